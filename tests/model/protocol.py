"""The claim, watermark, epoch and settle protocol for one range of one number: every step that may follow a state.

Who may claim, write and record, and when. A process that stands still takes no step while ticks pass.
`Rules` names the protections; a model with one of them taken out must break an invariant.
"""

from collections.abc import Iterator
from dataclasses import replace
from itertools import product

from engine.core.states import EvidenceRank, RecipientState
from tests.model.tries import Tries, claimed, closed, evidence, lost, may_claim, not_accepted
from tests.model.world import (
    DOUBT_MAX,
    LEASE_TICKS,
    PERMIT_TICKS,
    REACHED,
    UNFENCED,
    Fact,
    Limits,
    Owner,
    Permit,
    Recipient,
    Rules,
    Step,
    World,
)


def steps(world: World, rules: Rules, limits: Limits) -> Iterator[Step]:
    """Everything that may happen next, with its name."""
    yield from _time(world)
    yield from _takeover(world, rules, limits)
    yield from _events(world, rules, limits)
    if limits.cancel and not world.range_closed:
        yield "cancel", _cancel(world)
    if limits.resend:
        yield from _resend(world, limits)
    for owner in world.owners:
        yield from _owner_steps(world, owner, rules, limits)


def _owner_steps(world: World, owner: Owner, rules: Rules, limits: Limits) -> Iterator[Step]:
    yield "crash", _crash(world, owner)
    yield from _lease(world, owner, rules)
    yield from _fence(world, owner, rules)
    if owner.fenced:
        yield from _raise(world, owner, rules, limits)
        yield from _claim_retry(world, owner, rules, limits)
        yield from _write(world, owner, rules)
        yield from _finish(world, owner, rules)
    yield from _give_back(world, owner)
    yield from _reply(world, owner, limits)
    yield from _store(world, owner, rules, limits)


# Time and ownership


def _time(world: World) -> Iterator[Step]:
    owners = frozenset(_aged(owner) for owner in world.owners)
    aged = replace(
        world,
        owners=owners,
        lease_ticks=max(0, world.lease_ticks - 1),
        quiet_ticks=world.quiet_ticks if world.quiet_ticks == UNFENCED else max(0, world.quiet_ticks - 1),
    )
    if aged != world:
        yield "tick", aged


def _aged(owner: Owner) -> Owner:
    permits = frozenset(replace(one, ticks=max(0, one.ticks - 1)) for one in owner.permits)
    return replace(owner, wait_ticks=max(0, owner.wait_ticks - 1), permits=permits)


def _takeover(world: World, rules: Rules, limits: Limits) -> Iterator[Step]:
    if world.epoch >= limits.epochs or len(world.owners) > 1:
        return
    free = world.released or world.holder_dead or world.lease_ticks == 0
    if not free and rules.lease_respected:
        return
    sure = world.released or world.holder_dead or not rules.lease_respected
    kept = min(world.quiet_ticks, PERMIT_TICKS) if rules.wait_outlives_owner else 0
    wait = kept if sure else PERMIT_TICKS
    owner = Owner(world.epoch + 1, wait, wait)
    unfenced = UNFENCED if rules.wait_kept_until_fenced else wait
    yield (
        "take",
        replace(
            world,
            owners=world.owners | {owner},
            epoch=owner.epoch,
            lease_ticks=LEASE_TICKS,
            quiet_ticks=world.quiet_ticks if sure else unfenced,
            released=False,
            holder_dead=False,
        ),
    )


def _lease(world: World, owner: Owner, rules: Rules) -> Iterator[Step]:
    if owner.epoch != world.epoch:
        return
    if world.lease_ticks < LEASE_TICKS:
        yield "renew", replace(world, lease_ticks=LEASE_TICKS)
    if not owner.under_way:
        keeps = rules.release_proven and _unaccounted(world)
        held = world.range_held and (keeps or not owner.fenced)
        yield "release", replace(
            world, owners=world.owners - {owner}, released=True, range_held=held
        )  # fmt: skip


def _unaccounted(world: World) -> bool:
    """Somebody is claimed and the store does not say what became of it."""
    return any(
        one.tries.current and one.state is RecipientState.PENDING for one in world.recipients
    )  # fmt: skip


def _crash(world: World, owner: Owner) -> World:
    dead = world.holder_dead or owner.epoch == world.epoch
    return replace(world, owners=world.owners - {owner}, holder_dead=dead)


def _fence(world: World, owner: Owner, rules: Rules) -> Iterator[Step]:
    """Adopt a held range, and doubt what its former owner left; or take a free one, which doubts nobody."""
    if world.range_held:
        if world.range_epoch >= owner.epoch:
            return
        recipients = tuple(_doubted(one) for one in world.recipients)
    else:
        if owner.epoch != world.epoch or world.range_closed or world.range_done:
            return
        recipients = world.recipients
    fresh = sum(one.doubted for one in recipients) - sum(one.doubted for one in world.recipients)
    wait = owner.whole_wait if rules.wait_from_fence and not owner.fenced else owner.wait_ticks
    fenced = replace(owner, fenced=True, known_mark=world.mark, wait_ticks=wait)
    ends = owner.epoch == world.epoch and world.quiet_ticks == UNFENCED
    quiet = wait if ends else world.quiet_ticks
    yield (
        "fence",
        replace(
            _with(world, owner, fenced),
            recipients=recipients,
            range_epoch=owner.epoch,
            range_held=True,
            quiet_ticks=quiet,
            doubted_at_once=max(world.doubted_at_once, fresh),
        ),
    )


def _doubted(one: Recipient) -> Recipient:
    waiting = one.tries.current == 0 or one.tries.refused
    if waiting or one.tries.ranks[-1] is not None:
        return one
    return replace(one, doubted=True, tries=lost(one.tries))


def _may_claim(world: World, owner: Owner, rules: Rules) -> bool:
    """The fence on the range itself, and the stop when what is known cannot be stored."""
    if owner.stopping or (rules.stops_when_not_stored and owner.under_way >= DOUBT_MAX):
        return False
    is_ours = world.range_epoch == owner.epoch or not rules.epoch_compared
    return is_ours and world.range_held and not world.range_closed


# Claiming and writing


def _raise(world: World, owner: Owner, rules: Rules, limits: Limits) -> Iterator[Step]:
    seq = owner.known_mark
    if seq >= limits.recipients or world.mark != seq or not _may_claim(world, owner, rules):
        return
    if not rules.mark_before_write:
        after = replace(owner, known_mark=seq + 1, permits=owner.permits | {Permit(seq, 1)})
        yield "send before the mark", _with(world, owner, after)
        return
    marked = replace(_change(world, seq, claimed(world.recipients[seq].tries)), mark=seq + 1)
    after = replace(owner, known_mark=seq + 1, permits=owner.permits | {Permit(seq, 1)})
    yield "raise", _with(marked, owner, after)
    if limits.lost_answers:
        # The stop cuts in between the COMMIT and its answer: claimed in the store, nowhere in memory.
        yield "raise, answer lost", _with(marked, owner, replace(owner, stopping=True))


def _claim_retry(world: World, owner: Owner, rules: Rules, limits: Limits) -> Iterator[Step]:
    if not _may_claim(world, owner, rules):
        return
    for seq, one in enumerate(world.recipients):
        if not one.tries.refused or not may_claim(one.tries) or one.tries.current >= limits.tries:
            continue
        attempt_no = one.tries.current + 1
        after = replace(owner, permits=owner.permits | {Permit(seq, attempt_no)})
        if rules.retries_claimed:
            yield f"claim retry {seq}", _with(_change(world, seq, claimed(one.tries)), owner, after)
        elif not any(permit.seq == seq for permit in owner.permits):
            yield f"retry {seq} without a claim", _with(world, owner, after)


def _write(world: World, owner: Owner, rules: Rules) -> Iterator[Step]:
    if owner.wait_ticks:
        return
    for permit in owner.permits:
        if rules.permit_checked and not permit.ticks:
            continue
        sent = replace(
            world,
            newest_epoch=max(world.newest_epoch, owner.epoch),
            epoch_fell=world.epoch_fell or owner.epoch < world.newest_epoch,
        )
        without = owner.permits - {permit}
        for kind in ("accepted", "refused"):
            reply = Fact(permit.seq, permit.attempt_no, kind)
            after = replace(owner, permits=without, replies=owner.replies | {reply})
            ledger = world.ledger
            if kind == "accepted":
                ledger = tuple(sorted((*ledger, (permit.seq, permit.attempt_no))))
            yield f"write {permit.seq}, {kind}", _with(replace(sent, ledger=ledger), owner, after)


def _give_back(world: World, owner: Owner) -> Iterator[Step]:
    """What was certainly not written waits for another attempt: drained, or its permit ran out."""
    for permit in owner.permits:
        fact = Fact(permit.seq, permit.attempt_no, "refused")
        after = replace(owner, permits=owner.permits - {permit}, facts=owner.facts | {fact})
        yield f"give back {permit.seq}", _with(world, owner, after)


def _reply(world: World, owner: Owner, limits: Limits) -> Iterator[Step]:
    for reply in owner.replies:
        known = [reply] + ([replace(reply, kind="unknown")] if limits.lost_answers else [])
        for fact in known:
            after = replace(owner, replies=owner.replies - {reply}, facts=owner.facts | {fact})
            yield f"reply {fact.seq}, {fact.kind}", _with(world, owner, after)


# Recording


def _store(world: World, owner: Owner, rules: Rules, limits: Limits) -> Iterator[Step]:
    for fact in owner.facts:
        recorded = _recorded(world, fact, rules)
        after = replace(owner, facts=owner.facts - {fact})
        yield f"store {fact.seq}, {fact.kind}", _with(recorded, owner, after)
        if limits.lost_answers and (recorded != world or not rules.counted_by_difference):
            yield f"store {fact.seq}, {fact.kind}, answer lost", recorded


def _recorded(world: World, fact: Fact, rules: Rules) -> World:
    one = world.recipients[fact.seq]
    tries = one.tries
    if not rules.mark_before_write and tries.current < fact.attempt_no and may_claim(tries):
        tries = claimed(tries)
        world = replace(world, mark=max(world.mark, fact.seq + 1))
    if fact.kind == "accepted":
        accepted = evidence(tries, fact.attempt_no, EvidenceRank.ACCEPTED, doubted=one.doubted)
        world = _change(world, fact.seq, accepted)
        if not rules.counted_by_difference:
            world = replace(world, counted_accepted=min(9, world.counted_accepted + 1))
    elif fact.kind == "refused":
        world = _change(world, fact.seq, not_accepted(tries, fact.attempt_no))
        if rules.late_deferral_reopens and world.recipients[fact.seq].state is RecipientState.DEFERRED:
            world = replace(world, range_done=False)
    else:
        doubtful = _doubtful(tries, fact.attempt_no)
        world = _change(world, fact.seq, lost(tries) if doubtful else tries, doubted=doubtful)
    return _counted(world) if rules.counted_by_difference else world


def _doubtful(tries: Tries, attempt_no: int) -> bool:
    return attempt_no == tries.current and not tries.refused and tries.ranks[-1] is None


def _events(world: World, rules: Rules, limits: Limits) -> Iterator[Step]:
    """The service tells of what it accepted: at any time, however often."""
    ranks = (EvidenceRank.SENT, EvidenceRank.FAILED) if limits.failures else (EvidenceRank.SENT,)
    for (seq, attempt_no), rank in product(sorted(set(world.ledger)), ranks):
        told = told_of(world, seq, attempt_no, rank, rules)
        if told != world:
            yield f"event {seq}, try {attempt_no}, {rank.name}", told


def told_of(world: World, seq: int, attempt_no: int, rank: EvidenceRank, rules: Rules) -> World:
    """The world after an event of one accepted try."""
    one = world.recipients[seq]
    changed = evidence(one.tries, attempt_no, rank, doubted=one.doubted)
    reached = one.reached or changed.cancelled
    if not rules.cancelled_for_good and rank is EvidenceRank.FAILED:
        changed = replace(changed, cancelled=False)
    told = _change(world, seq, changed)
    return _counted(_put(told, seq, replace(told.recipients[seq], reached=reached)))


def _resend(world: World, limits: Limits) -> Iterator[Step]:
    for seq, one in enumerate(world.recipients):
        if (
            one.state is RecipientState.UNKNOWN
            and one.tries.current < limits.tries
            and not world.range_closed
        ):
            yield f"resend {seq}", resent(world, seq)


def resent(world: World, seq: int) -> World:
    """The world after the word, of a policy or a person, that a doubt is to be sent again."""
    one = world.recipients[seq]
    again = replace(one, tries=not_accepted(one.tries, one.tries.current), doubted=False, resent=True)
    return replace(_put(world, seq, again), range_done=False)


def _under_way(one: Recipient) -> bool:
    """A later attempt has no outcome yet, whatever the recipient shows of an earlier one."""
    tries = one.tries
    settled = tries.current == 0 or tries.ranks[-1] is not None or tries.cancelled
    return not (settled or tries.refused or one.doubted)


def _finish(world: World, owner: Owner, rules: Rules) -> Iterator[Step]:
    """Nothing is left to send: the range is nobody's any more."""
    waiting = {RecipientState.PENDING, RecipientState.DEFERRED}
    ours = world.range_epoch == owner.epoch and world.range_held and not world.range_closed
    hidden = rules.later_tries_seen and any(_under_way(one) for one in world.recipients)
    if ours and not hidden and not any(one.state in waiting for one in world.recipients):
        yield "finish", replace(world, range_done=True, range_held=False)


def _cancel(world: World) -> World:
    recipients = tuple(replace(one, tries=closed(one.tries)) for one in world.recipients)
    return replace(world, range_closed=True, recipients=recipients)


# Changes


def _with(world: World, before: Owner, after: Owner) -> World:
    return replace(world, owners=(world.owners - {before}) | {after})


def _put(world: World, seq: int, one: Recipient) -> World:
    recipients = (*world.recipients[:seq], one, *world.recipients[seq + 1 :])
    return replace(world, recipients=recipients)


def _change(world: World, seq: int, tries: Tries, *, doubted: bool | None = None) -> World:
    one = world.recipients[seq]
    still = one.doubted and not tries.refused if doubted is None else doubted or one.doubted
    settled = tries.current > 0 and tries.ranks[-1] is not None
    return _put(world, seq, replace(one, tries=tries, doubted=still and not settled))


def _counted(world: World) -> World:
    return replace(world, counted_accepted=sum(one.state in REACHED for one in world.recipients))
