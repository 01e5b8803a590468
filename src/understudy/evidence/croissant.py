"""Croissant 1.1 metadata (MLCommons) of a file of synthetic rows: JSON-LD that catalogues and loaders read.

Names, types and the hash come from the schema and the manifest; a guarantee has no place of its own in the format, so it
stands in the description. What only the publisher knows (licence, address, creator) says FILL IN.
"""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from understudy.manifest import Manifest

FILL = "FILL IN"
CONFORMS = "http://mlcommons.org/croissant/1.1"
FORMATS = {".csv": "text/csv", ".parquet": "application/x-parquet"}
TYPES = {
    "continuous": "sc:Float",
    "integer": "sc:Integer",
    "boolean": "sc:Boolean",
    "datetime": "sc:DateTime",
    "categorical": "sc:Text",
    "ordinal": "sc:Text",
    "identifier": "sc:Text",
    "image": "sc:Text",
}
CONTEXT = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "sc": "https://schema.org/",
    "cr": "http://mlcommons.org/croissant/",
    "dct": "http://purl.org/dc/terms/",
    "citeAs": "cr:citeAs",
    "column": "cr:column",
    "conformsTo": "dct:conformsTo",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "equivalentProperty": "cr:equivalentProperty",
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "extract": "cr:extract",
    "field": "cr:field",
    "fileObject": "cr:fileObject",
    "fileProperty": "cr:fileProperty",
    "fileSet": "cr:fileSet",
    "format": "cr:format",
    "includes": "cr:includes",
    "isLiveDataset": "cr:isLiveDataset",
    "jsonPath": "cr:jsonPath",
    "key": "cr:key",
    "md5": "cr:md5",
    "parentField": "cr:parentField",
    "path": "cr:path",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "recordSet": "cr:recordSet",
    "references": "cr:references",
    "regex": "cr:regex",
    "repeated": "cr:repeated",
    "replace": "cr:replace",
    "samplingRate": "cr:samplingRate",
    "separator": "cr:separator",
    "source": "cr:source",
    "subField": "cr:subField",
    "transform": "cr:transform",
}


def metadata(certificate: Mapping[str, Any], made: Manifest, sample: Path) -> dict[str, Any]:
    """The document for one file."""
    claim = certificate["claim"]
    name = re.sub(r"[^A-Za-z0-9_.-]+", "-", sample.stem).strip("-") or "synthetic"
    return {
        "@context": CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": CONFORMS,
        "name": name,
        "description": (
            f"{made.rows} synthetic rows made by understudy ({certificate['method']}) with differential privacy: epsilon "
            f"{claim['epsilon']:g}, delta {claim['delta']:g}, unit {claim['unit']}. No row is a person. Model {made.model}."
        ),
        "license": FILL,
        "url": FILL,
        "creator": {"@type": "sc:Organization", "name": FILL},
        "citeAs": FILL,
        "datePublished": datetime.fromtimestamp(sample.stat().st_mtime, UTC)
        .date()
        .isoformat(),  # when the rows were made
        "version": "1.0.0",
        "isLiveDataset": False,
        "distribution": [
            {
                "@type": "cr:FileObject",
                "@id": "rows",
                "name": sample.name,
                "contentUrl": sample.name,
                "contentSize": f"{sample.stat().st_size} B",
                "encodingFormat": FORMATS[sample.suffix.lower()],
                "sha256": made.sha256,
            }
        ],
        "recordSet": [
            {
                "@type": "cr:RecordSet",
                "@id": "table",
                "name": "table",
                "field": [_field(place, column, entry) for place, (column, entry) in enumerate(_columns(certificate))],
            }
        ],
    }


def _columns(certificate: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Any]]]:
    return list(certificate["schema"]["columns"].items())


def _field(place: int, column: str, entry: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "@type": "cr:Field",
        "@id": f"table/{place}",  # names of columns may hold anything, identifiers may not
        "name": column,
        "description": f"{entry['kind']} column",
        "dataType": TYPES[entry["kind"]],
        "source": {"fileObject": {"@id": "rows"}, "extract": {"column": column}},
    }
