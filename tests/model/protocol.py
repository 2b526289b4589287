"""The claim, watermark, epoch and settle protocol for one range of one number: every step that may follow a state.

Who may claim, write and record, and when. A process that stands still takes no step while ticks pass.
`Rules` names the protections; a model with one of them taken out must break an invariant.
"""

from collections.abc import Iterator
from dataclasses import replace
from itertools import product

from drumbeat.engine.core.states import EvidenceRank, RecipientState
from tests.model.attempts import Attempts, claimed, closed, evidence, lost, may_claim, not_accepted
from tests.model.world import (
    IN_DOUBT_MAX,
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
    yield from _release_permits(world, owner)
    yield from _reply(world, owner, limits)
    yield from _store(world, owner, rules, limits)


# Time and ownership


def _time(world: World) -> Iterator[Step]:
    owners = frozenset(_aged(owner) for owner in world.owners)
    aged = replace(
        world,
        owners=owners,
        lease_ticks=max(0, world.lease_ticks - 1),
        no_send_ticks=world.no_send_ticks
        if world.no_send_ticks == UNFENCED
        else max(0, world.no_send_ticks - 1),
    )
    if aged != world:
        yield "tick", aged


def _aged(owner: Owner) -> Owner:
    permits = frozenset(replace(permit, ticks=max(0, permit.ticks - 1)) for permit in owner.permits)
    return replace(owner, wait_ticks=max(0, owner.wait_ticks - 1), permits=permits)


def _takeover(world: World, rules: Rules, limits: Limits) -> Iterator[Step]:
    if world.epoch >= limits.epochs or len(world.owners) > 1:
        return
    free = world.released or world.holder_dead or world.lease_ticks == 0
    if not free and rules.lease_respected:
        return
    sure = world.released or world.holder_dead or not rules.lease_respected
    kept = min(world.no_send_ticks, PERMIT_TICKS) if rules.wait_outlives_owner else 0
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
            no_send_ticks=world.no_send_ticks if sure else unfenced,
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
    """A recipient is claimed, and the store has no outcome of it."""
    return any(
        recipient.attempts.current and recipient.state is RecipientState.PENDING for recipient in world.recipients
    )  # fmt: skip


def _crash(world: World, owner: Owner) -> World:
    dead = world.holder_dead or owner.epoch == world.epoch
    return replace(world, owners=world.owners - {owner}, holder_dead=dead)


def _fence(world: World, owner: Owner, rules: Rules) -> Iterator[Step]:
    """Take over a held range and put its former owner's claims in doubt, or take a free range."""
    if world.range_held:
        if world.range_epoch >= owner.epoch:
            return
        recipients = tuple(_put_in_doubt(recipient) for recipient in world.recipients)
    else:
        if owner.epoch != world.epoch or world.range_closed or world.range_done:
            return
        recipients = world.recipients
    fresh = sum(recipient.in_doubt for recipient in recipients) - sum(
        recipient.in_doubt for recipient in world.recipients
    )
    wait = owner.whole_wait if rules.wait_from_fence and not owner.fenced else owner.wait_ticks
    fenced = replace(owner, fenced=True, known_watermark=world.watermark, wait_ticks=wait)
    ends = owner.epoch == world.epoch and world.no_send_ticks == UNFENCED
    no_send_ticks = wait if ends else world.no_send_ticks
    yield (
        "fence",
        replace(
            _with(world, owner, fenced),
            recipients=recipients,
            range_epoch=owner.epoch,
            range_held=True,
            no_send_ticks=no_send_ticks,
            in_doubt_at_once=max(world.in_doubt_at_once, fresh),
        ),
    )


def _put_in_doubt(recipient: Recipient) -> Recipient:
    waiting = recipient.attempts.current == 0 or recipient.attempts.refused
    if waiting or recipient.attempts.ranks[-1] is not None:
        return recipient
    return replace(recipient, in_doubt=True, attempts=lost(recipient.attempts))


def _may_claim(world: World, owner: Owner, rules: Rules) -> bool:
    """The range is this owner's, and its outcomes can be stored."""
    if owner.stopping or (rules.stops_when_not_stored and owner.under_way >= IN_DOUBT_MAX):
        return False
    is_ours = world.range_epoch == owner.epoch or not rules.epoch_compared
    return is_ours and world.range_held and not world.range_closed


# Claiming and writing


def _raise(world: World, owner: Owner, rules: Rules, limits: Limits) -> Iterator[Step]:
    seq = owner.known_watermark
    if seq >= limits.recipients or world.watermark != seq or not _may_claim(world, owner, rules):
        return
    if not rules.watermark_before_write:
        after = replace(owner, known_watermark=seq + 1, permits=owner.permits | {Permit(seq, 1)})
        yield "send before the claim", _with(world, owner, after)
        return
    raised = replace(_change(world, seq, claimed(world.recipients[seq].attempts)), watermark=seq + 1)
    after = replace(owner, known_watermark=seq + 1, permits=owner.permits | {Permit(seq, 1)})
    yield "raise", _with(raised, owner, after)
    if limits.lost_answers:
        # The process is stopped between the COMMIT and its answer: claimed in the store, unknown in memory.
        yield "raise, answer lost", _with(raised, owner, replace(owner, stopping=True))


def _claim_retry(world: World, owner: Owner, rules: Rules, limits: Limits) -> Iterator[Step]:
    if not _may_claim(world, owner, rules):
        return
    for seq, recipient in enumerate(world.recipients):
        if (
            not recipient.attempts.refused
            or not may_claim(recipient.attempts)
            or recipient.attempts.current >= limits.attempts
        ):
            continue
        attempt_no = recipient.attempts.current + 1
        after = replace(owner, permits=owner.permits | {Permit(seq, attempt_no)})
        if rules.retries_claimed:
            yield f"claim retry {seq}", _with(_change(world, seq, claimed(recipient.attempts)), owner, after)
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


def _release_permits(world: World, owner: Owner) -> Iterator[Step]:
    """A message that was certainly not written waits for another attempt: drained, or its permit ran out."""
    for permit in owner.permits:
        fact = Fact(permit.seq, permit.attempt_no, "refused")
        after = replace(owner, permits=owner.permits - {permit}, facts=owner.facts | {fact})
        yield f"release permit {permit.seq}", _with(world, owner, after)


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
    recipient = world.recipients[fact.seq]
    attempts = recipient.attempts
    if not rules.watermark_before_write and attempts.current < fact.attempt_no and may_claim(attempts):
        attempts = claimed(attempts)
        world = replace(world, watermark=max(world.watermark, fact.seq + 1))
    if fact.kind == "accepted":
        accepted = evidence(attempts, fact.attempt_no, EvidenceRank.ACCEPTED, in_doubt=recipient.in_doubt)
        world = _change(world, fact.seq, accepted)
        if not rules.counted_by_difference:
            world = replace(world, counted_accepted=min(9, world.counted_accepted + 1))
    elif fact.kind == "refused":
        world = _change(world, fact.seq, not_accepted(attempts, fact.attempt_no))
        if rules.late_deferral_reopens and world.recipients[fact.seq].state is RecipientState.DEFERRED:
            world = replace(world, range_done=False)
    else:
        unsettled = _is_unsettled(attempts, fact.attempt_no)
        world = _change(world, fact.seq, lost(attempts) if unsettled else attempts, in_doubt=unsettled)
    return _counted(world) if rules.counted_by_difference else world


def _is_unsettled(attempts: Attempts, attempt_no: int) -> bool:
    return attempt_no == attempts.current and not attempts.refused and attempts.ranks[-1] is None


def _events(world: World, rules: Rules, limits: Limits) -> Iterator[Step]:
    """The service reports what it accepted, at any time and any number of times."""
    ranks = (EvidenceRank.SENT, EvidenceRank.FAILED) if limits.failures else (EvidenceRank.SENT,)
    for (seq, attempt_no), rank in product(sorted(set(world.ledger)), ranks):
        after = after_event(world, seq, attempt_no, rank, rules)
        if after != world:
            yield f"event {seq}, attempt {attempt_no}, {rank.name}", after


def after_event(world: World, seq: int, attempt_no: int, rank: EvidenceRank, rules: Rules) -> World:
    """The world after an event of one accepted attempt."""
    recipient = world.recipients[seq]
    changed = evidence(recipient.attempts, attempt_no, rank, in_doubt=recipient.in_doubt)
    reached = recipient.reached or changed.cancelled
    if not rules.cancelled_for_good and rank is EvidenceRank.FAILED:
        changed = replace(changed, cancelled=False)
    after = _change(world, seq, changed)
    return _counted(_put(after, seq, replace(after.recipients[seq], reached=reached)))


def _resend(world: World, limits: Limits) -> Iterator[Step]:
    for seq, recipient in enumerate(world.recipients):
        if (
            recipient.state is RecipientState.UNKNOWN
            and recipient.attempts.current < limits.attempts
            and not world.range_closed
        ):
            yield f"resend {seq}", resent(world, seq)


def resent(world: World, seq: int) -> World:
    """The world after a policy or a person decided that an attempt in doubt is to be sent again."""
    recipient = world.recipients[seq]
    again = replace(
        recipient,
        attempts=not_accepted(recipient.attempts, recipient.attempts.current),
        in_doubt=False,
        resent=True,
    )
    return replace(_put(world, seq, again), range_done=False)


def _under_way(recipient: Recipient) -> bool:
    """A later attempt has no outcome yet, whatever the recipient shows of an earlier one."""
    attempts = recipient.attempts
    settled = attempts.current == 0 or attempts.ranks[-1] is not None or attempts.cancelled
    return not (settled or attempts.refused or recipient.in_doubt)


def _finish(world: World, owner: Owner, rules: Rules) -> Iterator[Step]:
    """Nothing is left to send: nobody holds the range any more."""
    waiting = {RecipientState.PENDING, RecipientState.DEFERRED}
    ours = world.range_epoch == owner.epoch and world.range_held and not world.range_closed
    hidden = rules.later_attempts_seen and any(_under_way(recipient) for recipient in world.recipients)
    if ours and not hidden and not any(recipient.state in waiting for recipient in world.recipients):
        yield "finish", replace(world, range_done=True, range_held=False)


def _cancel(world: World) -> World:
    recipients = tuple(
        replace(recipient, attempts=closed(recipient.attempts)) for recipient in world.recipients
    )
    return replace(world, range_closed=True, recipients=recipients)


# Changes


def _with(world: World, before: Owner, after: Owner) -> World:
    return replace(world, owners=(world.owners - {before}) | {after})


def _put(world: World, seq: int, recipient: Recipient) -> World:
    recipients = (*world.recipients[:seq], recipient, *world.recipients[seq + 1 :])
    return replace(world, recipients=recipients)


def _change(world: World, seq: int, attempts: Attempts, *, in_doubt: bool | None = None) -> World:
    recipient = world.recipients[seq]
    still = (
        recipient.in_doubt and not attempts.refused if in_doubt is None else in_doubt or recipient.in_doubt
    )
    settled = attempts.current > 0 and attempts.ranks[-1] is not None
    return _put(world, seq, replace(recipient, attempts=attempts, in_doubt=still and not settled))


def _counted(world: World) -> World:
    return replace(world, counted_accepted=sum(recipient.state in REACHED for recipient in world.recipients))
