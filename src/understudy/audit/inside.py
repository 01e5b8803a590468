"""Reading inside the wall, for traces on public data: which rows a teacher's training really used, and how well it knows them.

Rows seen. Every row gets a number that travels with it through the mechanism's own `prepare`, so that each place of each shard is
known. Which places teacher i uses is then not taken from the code's word but measured: the derivative of its new weights with
respect to the rows of all shards. A place with a derivative other than zero was used; a derivative with respect to another
teacher's weights means that teachers mix. That sees a wrong partition, a wrong index in training, and shards redrawn every round.

Losses. The cross entropy -log sigmoid(logit) of calling real rows real, of every teacher on every shard: own is the mean over
teachers on the shard they were dealt, other the mean of all other teachers on the same shard.
"""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from understudy.conversation import Query
from understudy.private import Mechanism, NoiseSource
from understudy.private.blocks import Blocks
from understudy.private.mapping import Block
from understudy.private.mechanisms.teacher_votes import Teachers
from understudy.private.partition import Shards
from understudy.private.rounds import Held

MOST = 16  # teachers of a class that are looked at, so that thousands of them do not fill the memory


class Dealt(NamedTuple):
    """What the mechanism prepared, and the number of the row in every place (from 1; 0: empty)."""

    data: Shards
    held: Held
    numbers: Int[np.ndarray, "classes teachers places"]


def deal(mechanism: Mechanism, whole: Block, noise: NoiseSource) -> Dealt:
    """The mechanism's own `prepare` on rows that carry their number as a last column, which is then taken off again."""
    numbers = np.arange(1, len(whole) + 1, dtype=np.float32)[:, None]
    numbered = np.concatenate([whole.rows, numbers], axis=1)
    data, held = mechanism.prepare(Blocks.of(numbered, whole.classes, whole.units), noise)
    rows = np.asarray(data.rows)
    filled = np.rint(rows[..., -1] * np.asarray(data.mask)).astype(np.int64)
    held = jax.tree.map(without_number, held, is_leaf=_is_teachers)
    return Dealt(Shards(jnp.asarray(rows[..., :-1]), jnp.asarray(data.mask)), held, filled)  # type: ignore[arg-type]


def without_number(part: Any) -> Any:
    """Teachers, and what an optimiser remembers of them, without the weight of the rows' number."""
    return Teachers(jnp.asarray(part.weight[..., :-1]), jnp.asarray(part.bias)) if _is_teachers(part) else part


def teachers_in(held: Held) -> Teachers:
    """The teachers inside whatever a mechanism carries from round to round: what comes first of their kind."""
    found: Teachers = next(part for part in jax.tree.leaves(held, is_leaf=_is_teachers) if _is_teachers(part))
    return found


def put(held: Held, teachers: Teachers) -> Held:
    """The held state with other teachers in it, and with what an optimiser remembers left as it is."""
    parts, tree = jax.tree.flatten(held, is_leaf=_is_teachers)
    first = next(place for place, part in enumerate(parts) if _is_teachers(part))
    changed: Held = jax.tree.unflatten(tree, [*parts[:first], teachers, *parts[first + 1 :]])
    return changed


def _is_teachers(part: object) -> bool:
    return isinstance(part, Teachers)


class Used(NamedTuple):
    """What the training of the watched teachers depended on in one round."""

    places: Bool[Array, "watched classes teachers places"]
    mixed: Bool[Array, " watched"]  # depends on another teacher's weights


def watched(teachers: tuple[int, ...]) -> list[tuple[int, int]]:
    """(class, teacher) of the teachers that are looked at."""
    return [(c, i) for c, count in enumerate(teachers) for i in range(min(count, MOST))]


@eqx.filter_jit
def used(
    mechanism: Mechanism,
    dealt: Dealt,
    held: Held,
    query: Query,
    noise: Int[Array, "..."],
    key: PRNGKeyArray,
    whom: tuple[tuple[int, int], ...],
) -> Used:
    """Which places of all shards move the new weights of the teachers `whom`, by reverse differentiation."""

    def learn(rows: Any, teachers: Teachers) -> Teachers:
        return teachers_in(mechanism.answer(dealt.data._replace(rows=rows), put(held, teachers), query, noise, key)[0])

    before = teachers_in(held)
    after, pull = jax.vjp(learn, dealt.data.rows, before)
    # A fixed direction without zeros: no coordinate's influence can hide.
    direction = 1.0 + jnp.arange(before.weight.shape[-1], dtype=jnp.float32) / before.weight.shape[-1]

    def one(place: Int[Array, " two"]) -> tuple[Array, Array]:
        chosen = jnp.zeros(after.bias.shape).at[place[0], place[1]].set(1.0)
        rows, others = pull(Teachers(chosen[..., None] * direction[None, None, :], chosen))
        touched = jnp.abs(others.weight).sum(axis=-1) + jnp.abs(others.bias)
        return jnp.abs(rows).sum(axis=-1) > 0, ((touched > 0) & (chosen == 0)).any()

    places, mixed = jax.vmap(one)(jnp.asarray(whom))
    return Used(places & (dealt.data.mask > 0)[None], mixed)


@eqx.filter_jit
def losses(data: Shards, teachers: Teachers) -> tuple[Float[Array, ""], Float[Array, ""]]:
    """Mean cross entropy on real rows: of teachers on their own shard, and of the other teachers on the same shard."""
    few = min(teachers.bias.shape[1], MOST)
    rows, mask = data.rows[:, :few], data.mask[:, :few]
    logits = jnp.einsum("cjsw,ciw->cijs", rows, teachers.weight[:, :few]) + teachers.bias[:, :few, None, None]
    count = mask.sum(axis=-1)
    each = (jax.nn.softplus(-logits) * mask[:, None]).sum(axis=-1) / jnp.maximum(count, 1.0)[
        :, None
    ]  # [c, teacher, shard]
    held = (count > 0).astype(jnp.float32)
    same = jnp.eye(few)[None] * held[:, None]
    different = (1.0 - jnp.eye(few))[None] * held[:, None]
    return (each * same).sum() / same.sum(), (each * different).sum() / jnp.maximum(different.sum(), 1.0)
