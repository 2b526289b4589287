"""Rows that cannot be sent, in the middle of a range: each fails alone, and the others are sent."""

from drumbeat.engine.store.database import Pool
from tests.sending.planted import SLOW, campaign_row, plant_campaign, plant_numbers
from tests.sending.running import HIGH_RATE_PER_S, accepted_phones, assert_counts, run_to_end, serving

RECIPIENTS = 60
# By seq: what stands in the row instead of two short texts.
ODD_VARIABLES = {
    1: [],
    7: ["only one"],
    8: ["one", "two", "three"],
    9: ['"; DROP TABLE "recipients', "\\"],
    10: ["\u2028\u2029\x01\x7f\t\n", "\U0001f469\u200d\U0001f692"],
    30: ["x" * 200_000, "y"],
    31: [None, "z"],
    60: ["", ""],
}


async def test_odd_rows_never_block_their_range(pool: Pool) -> None:
    async with pool.acquire() as connection:
        await plant_numbers(connection, **{SLOW: HIGH_RATE_PER_S})
        campaign = await plant_campaign(connection, recipients=RECIPIENTS, range_size=20)
        phones = campaign.phones
        phones[14] = 1  # nobody's
        await connection.execute(
            "UPDATE recipients SET phone = 1 WHERE range_id = $1 AND seq = 15", campaign.range_ids[0]
        )
        for ordinal, variables in ODD_VARIABLES.items():
            await connection.execute(
                "UPDATE recipients SET variables = $3 WHERE range_id = $1 AND seq = $2",
                campaign.range_ids[(ordinal - 1) // 20],
                (ordinal - 1) % 20 + 1,
                variables,
            )
    async with serving() as emulator:
        assert (await run_to_end(pool, emulator, campaign)).state == "finished"
        accepted = accepted_phones(emulator)
    odd = {phones[ordinal - 1] for ordinal in ODD_VARIABLES} | {1}
    assert max(accepted.values()) == 1
    assert set(phones) - odd <= set(accepted), "everybody else got it"
    for ordinal in (1, 7, 8, 31):
        assert phones[ordinal - 1] not in accepted
    assert phones[8] in accepted, "odd, and a text all the same"
    rows = await pool.fetch("SELECT state, reason, phone FROM recipient_states")
    fates = {row["phone"]: (row["state"], row["reason"]) for row in rows}
    for ordinal in (1, 7, 8, 31):
        assert fates[phones[ordinal - 1]] == ("skipped", "variables do not fit the template")
    assert {state for state, _ in fates.values()} <= {"accepted", "skipped", "failed"}
    counted = [state for state, _ in fates.values()]
    await assert_counts(pool, campaign, **{state: counted.count(state) for state in set(counted)})
    async with pool.acquire() as connection:
        assert (await campaign_row(connection, campaign.campaign_id))[0] == "finished"
