"""Import of SDV metadata (JSON), the most widespread description of a table.

SDV describes kinds but neither bounds nor categories, so those become `estimate`, unless the metadata lists them
(`order`). Everything that names a person becomes an identifier: regenerated, never learned. The sdtype `unknown` stays open
(`?`); what we cannot place is refused by name. Nothing says whether a value may be missing, so every learned column may.
Reads the single-table layout (`SINGLE_TABLE_V1`) and the layout with `tables` (`V1`, `MULTI_TABLE_V1`).
"""

from collections.abc import Mapping
from typing import Any

from understudy.errors import UsageError
from understudy.schema.columns import Column, require_kind
from understudy.schema.sketch import ASK, Entry
from understudy.schema.types import Kind

# Sdtypes that describe persons and their things; SDV's documentation calls them PII or "domain-specific".
PERSONAL = frozenset(
    """name first_name last_name prefix suffix email company_email phone_number ssn passport_number license_plate vin
    address street_address secondary_address street_name building_number city country country_code state state_abbr
    administrative_unit postcode latitude longitude iban bban swift swift8 swift11 credit_card_number
    credit_card_provider ipv4_address ipv6_address mac_address user_agent_string user_name url guid uuid4 company
    job""".split()  # noqa: SIM905
)
_REPRESENTATIONS = {
    **{f"{sign}Int{bits}": f"{sign.lower()}int{bits}" for sign in ("", "U") for bits in (8, 16, 32, 64)},
    "Float": "double",
    "Float32": "float",
    "Float64": "double",
}


def is_sdv(content: object) -> bool:
    """Whether a parsed file looks like SDV metadata."""
    if not isinstance(content, Mapping):
        return False
    columns = content.get("columns")
    described = isinstance(columns, Mapping) and any(isinstance(c, Mapping) and "sdtype" in c for c in columns.values())
    return described or "METADATA_SPEC_VERSION" in content or isinstance(content.get("tables"), Mapping)


def from_sdv(metadata: object, table: str | None = None) -> list[Entry]:
    """The columns that SDV metadata describe; `table` chooses one table when there are several."""
    if not isinstance(metadata, Mapping):
        raise UsageError("this is not SDV metadata: a JSON object with `columns` or `tables` is expected")
    described = _one_table(metadata, table)
    entries = described.get("columns")
    if not isinstance(entries, Mapping) or not entries:
        raise UsageError("the SDV metadata describe no columns")
    keys = described.get("primary_key")
    keys = set(keys if isinstance(keys, list) else [keys]) | {described.get("sequence_key")}
    alternates = described.get("alternate_keys")
    keys |= {k for k in (alternates if isinstance(alternates, list) else []) if isinstance(k, str)}
    return [_entry(str(name), entry, str(name) in keys) for name, entry in entries.items()]


def _one_table(metadata: Mapping[str, Any], wanted: str | None) -> Mapping[str, Any]:
    tables = metadata.get("tables")
    if tables is None:
        if wanted is not None:
            raise UsageError(f"the SDV metadata describe one table without a name, not {wanted!r}")
        return metadata
    if not isinstance(tables, Mapping) or not tables:
        raise UsageError("the SDV metadata describe no tables")
    names = ", ".join(repr(str(name)) for name in tables)
    if wanted is None and len(tables) > 1:
        raise UsageError(f"the SDV metadata describe several tables; choose one of {names}")
    name = wanted if wanted is not None else next(iter(tables))
    if name not in tables:
        raise UsageError(f"the SDV metadata describe no table {name!r}; there are {names}")
    if not isinstance(tables[name], Mapping):
        raise UsageError(f"the SDV metadata of table {name!r} are not understood")
    return dict(tables[name])


def _entry(name: str, entry: object, is_key: bool) -> Entry:
    if isinstance(entry, Mapping) and entry.get("sdtype") == "unknown" and not is_key:
        return Entry(name=name, note=ASK)
    return Entry(name=name, column=_column(name, entry, is_key))


def _column(name: str, entry: Any, is_key: bool) -> Column:
    sdtype = entry.get("sdtype") if isinstance(entry, Mapping) else None
    if not isinstance(sdtype, str):
        raise UsageError(f"column {name!r}: the SDV metadata give it no sdtype")
    if sdtype == "text":
        require_kind(name, "text")  # refused, with the reason
    if is_key or sdtype == "id" or entry.get("pii") is True:
        return Column(name=name, kind="identifier", dtype=None if sdtype == "numerical" else "string")
    if sdtype == "boolean":
        return Column(name=name, kind="boolean", missing=True)
    if sdtype == "datetime":
        return Column(name=name, kind="datetime", estimate=name, missing=True)
    if sdtype == "numerical":
        dtype = _REPRESENTATIONS.get(str(entry.get("computer_representation", "Float")))
        if dtype is None:
            raise UsageError(f"column {name!r}: unknown computer_representation in the SDV metadata")
        kind: Kind = "integer" if "int" in dtype else "continuous"
        return Column(name=name, kind=kind, estimate=name, missing=True, dtype=dtype)
    if sdtype == "categorical":
        order = entry.get("order")
        if isinstance(order, list) and order:
            return Column(name=name, kind="ordinal", categories=tuple(order), missing=True)
        return Column(name=name, kind="categorical", estimate=name, missing=True)
    if sdtype in PERSONAL:
        if entry.get("pii") is False:  # declared harmless, such as a city: a category like any other
            return Column(name=name, kind="categorical", estimate=name, missing=True)
        return Column(name=name, kind="identifier", dtype="string")
    raise UsageError(
        f"column {name!r}: sdtype {sdtype!r} is unknown to us; set it to numerical, categorical, boolean, "
        "datetime or id, or remove the column from the metadata"
    )
