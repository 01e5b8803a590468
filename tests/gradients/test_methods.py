"""DPGAN, RDP-CGAN and the references as methods: what they pay, refuse, and say about themselves."""

from contextlib import redirect_stderr
from io import StringIO

import dp_accounting as dpa
import jax
import jax.numpy as jnp
import pytest
from sklearn.base import clone

import understudy as us
from understudy import cli
from understudy.accounting.events import flatten
from understudy.accounting.ledger import entries_from_dict
from understudy.cli.fit import check_consent
from understudy.methods.gradients.method import GRADIENTS, GradientGan, doubling, piece_size
from understudy.methods.gradients.presets import RdpCgan
from understudy.nn.mlp import Mlp

from ..conformance.tables import GENERATORS, mixed_schema, mixed_table

REFERENCES = ("gan", "medgan", "tablegan", "corgan")


def gradient_charges(ledger):
    """How many gradients a ledger was charged for, by elementary event."""
    counts = {}
    for charge in entries_from_dict(ledger)[1]:
        if charge.purpose == GRADIENTS:
            for event, times in flatten(charge.event).items():
                counts[event] = counts.get(event, 0) + times
    return counts


def unpaid_rounds(model):
    """Rounds in which rows were asked about, minus rounds that were charged."""
    asked = len(next(iter(model.history.values())))
    return asked - sum(gradient_charges(model.ledger).values())


class ForgottenAutoencoder(RdpCgan):
    """Mutant: the plan and the mechanism price the critic's rounds only."""

    method = "rdp-cgan"

    def _mechanism(self, generator, *given):
        honest = super()._mechanism(generator, *given)

        class Forgetful(type(honest)):
            done = 0

            def event(self, rounds):
                first, Forgetful.done = Forgetful.done, Forgetful.done + rounds
                charged = max(Forgetful.done - max(generator.settings.autoencoder_rounds, first), 0)
                return super().event(charged) if charged else dpa.NoOpDpEvent()

        return Forgetful(**honest.__dict__)


def small(kind=RdpCgan, **more):
    params = {name: value for name, value in GENERATORS["rdp-cgan"].get_params().items() if name != "autoencoder"}
    networks = {"autoencoder": "mlp", "generator": "mlp", "critic": "mlp", "start": "none"}
    return kind(**(params | networks | more))


def test_both_stages_are_paid_from_one_ledger_and_a_forgotten_stage_is_caught():
    honest = small().fit(mixed_table(), mixed_schema()).model_
    assert unpaid_rounds(honest) == 0
    (event,) = gradient_charges(honest.ledger)
    assert event.sampling_probability == 0.5
    cheat = small(ForgottenAutoencoder).fit(mixed_table(), mixed_schema()).model_
    assert unpaid_rounds(cheat) == 1


def test_the_split_between_the_stages_is_stated():
    plan = us.method("rdp-cgan")(gradients_share=0.2, rounds=100, autoencoder_share=0.3).plan(mixed_schema())
    (charge,) = (charge for charge in plan.charges if charge.purpose == GRADIENTS)
    assert charge.detail == "30 for the autoencoder, 70 for the critic"
    assert sum(flatten(charge.event).values()) == 100
    assert plan.parameters["settings"]["autoencoder_rounds"] == 30
    assert any("floating point" in note for note in plan.notes)


@pytest.mark.parametrize(
    ("method", "options", "message"),
    [
        ("dpgan", {"critic_normalisation": "batch"}, "mixes rows"),
        ("rdp-cgan", {"normalisation": "batch"}, "mixes rows"),
        ("dpgan", {"sampling_rate": 0.0}, "sampling_rate"),
        ("dpgan", {"sampling_rate": 1.5}, "sampling_rate"),
        ("dpgan", {"adaptive": True}, "objective='standard'"),
        ("dpgan", {"autoencoder": "mlp"}, "generator='copula'"),
        ("dpgan", {"rounds": 0}, "rounds"),
        ("rdp-cgan", {"autoencoder_share": 1.0}, "autoencoder_share"),
    ],
)
def test_options_that_cannot_work_are_refused_before_rows_are_read(method, options, message):
    with pytest.raises(us.UsageError, match=message):
        us.method(method)(**options).fit("missing.csv", mixed_schema())


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"autoencoder": "mlp"},
        {"autoencoder": "none"},
        {"generator": "mlp"},
        {"critic": "mlp"},
        {"generator": "mlp", "critic": "mlp"},
    ],
    ids=["whole", "W/O CAE", "W/O AE", "W/O CG", "W/O CD", "W/O CDCG"],
)
def test_ablations_of_tables_7_and_8_are_options(options):
    assert us.method("rdp-cgan")(**options).plan(mixed_schema()).valid


def test_published_sizes_are_within_reach():
    """Five convolutional layers, code 128, noise 100, all of the budget for gradients."""
    made = us.method("rdp-cgan")(start="none")
    assert (made.layers, made.code, made.latent) == (5, 128, 100)
    assert len(doubling(made.channels, made.layers - 1)) == 4
    purposes = [charge.purpose for charge in made.plan(mixed_schema()).charges]
    assert purposes == ["class histogram", GRADIENTS]


@pytest.mark.parametrize("method", ["dpgan", "dpgan-as-published", "pate-gan"])
def test_without_a_start_the_class_histogram_takes_what_it_needs_and_no_more(method):
    """Two hundredths of the squared loss: a noise of 26 rows at (1, 1e-5), a little more where samples cost more than their
    square; 0.1 beside 0.2 would be 6."""
    options = {
        "start": "none",
        **({} if method == "pate-gan" else {"sampling_rate": 0.2, "sample_size": None, "rounds": 50}),
    }
    plan = us.method(method)(**options).plan(mixed_schema())
    assert {charge.purpose for charge in plan.charges} < {"class histogram", GRADIENTS, "teacher votes"}
    assert 24.0 < plan.parameters["noise"]["class histogram"] < 40.0


def test_the_papers_batch_needs_a_public_number_of_rows():
    """q decides the price, so a batch of 64 means nothing where the number of rows is private."""
    made = us.method("dpgan-as-published")()
    with pytest.raises(us.UsageError, match=r"sample_size=64 needs a public number of rows"):
        made.plan(mixed_schema())
    public = made.set_params(rounds=50).plan(mixed_schema(rows=320))
    assert public.parameters["settings"]["sampling_rate"] == pytest.approx(0.2)
    (event,) = [charge.event for charge in public.charges if charge.purpose == GRADIENTS]
    assert event.event.sampling_probability == pytest.approx(0.2)
    with pytest.raises(us.UsageError, match=r"sample_size=1\.5 must be a whole number"):
        us.method("dpgan")(sample_size=1.5).plan(mixed_schema(rows=6400))


def test_pieces_follow_from_released_figures_and_stay_small():
    assert piece_size(0.0) == 8 and piece_size(100.0) == 256 and piece_size(1e6) == 256
    assert [piece_size(n) for n in (7.0, 20.0)] == [16, 32]


@pytest.mark.parametrize("method", REFERENCES)
def test_references_say_that_they_are_not_private(method):
    made = us.method(method)()
    assert isinstance(made, GradientGan) and not made.private
    plan = made.plan(mixed_schema())
    assert not plan.valid and plan.void_reason.startswith("NOT PRIVATE")
    with pytest.raises(us.UsageError, match="--not-private"):
        check_consent(made, False)
    check_consent(made, True)


def test_the_command_asks_for_not_private(tmp_path):
    mixed_schema().save(tmp_path / "rows.yaml")
    said = StringIO()
    with redirect_stderr(said):
        words = ["fit", tmp_path / "rows.csv", "--schema", tmp_path / "rows.yaml", "--method", "gan"]
        code = cli.run([*map(str, words), "--epsilon", "1"])
    assert code == 2 and "add --not-private" in " ".join(said.getvalue().split())
    assert not (tmp_path / "rows.understudy").exists()


def test_not_private_is_refused_for_private_methods():
    with pytest.raises(us.UsageError, match="leave it out"):
        check_consent(us.method("dpgan")(), True)
    check_consent(us.method("dpgan")(), False)


def test_every_file_of_a_reference_says_not_private(tmp_path):
    folder = clone(GENERATORS["gan"]).fit(mixed_table(), mixed_schema()).save(tmp_path / "model")
    for name in ("model.json", "plan.json", "certificate.json", "certificate.txt"):
        assert "NOT PRIVATE" in " ".join((folder / name).read_text("utf-8").split()), name
    assert "VOID" in (folder / "registry.yaml").read_text("utf-8")
    assert '"not private"' in (folder / "ledger.json").read_text("utf-8")


def test_rounds_are_compiled_once(caplog, monkeypatch):
    """Networks may start from bare Python numbers, which have a weak type; rounds return strong ones, and compiled twice."""
    honest = Mlp.init

    def weakly_typed(network, key):
        params = honest(network, key)
        return params | {name: jnp.full(b.shape, 0.0) for name, b in params.items() if name.startswith("bias")}

    monkeypatch.setattr(Mlp, "init", weakly_typed)
    with jax.log_compiles(), caplog.at_level("WARNING"):
        small(rounds=24, autoencoder="none").fit(mixed_table(), mixed_schema())
    compiled = [record for record in caplog.records if "Finished XLA compilation of jit(run_chunk)" in record.message]
    assert len(compiled) == 1
