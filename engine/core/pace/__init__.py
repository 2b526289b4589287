"""The pace of one number: its rate, its requests in flight, and its claims ahead.

Decisions only: clock, CPU time and replies are arguments. Each line names an input, what it moves, and why.
The line below it names the test (in `tests/core/pace`) or benchmark that fails or gets worse without it.

token_bucket.py: when the next message may be written. One permit allows one write.
  limit: bounds every sliding second, by the ring of write times
      test_token_bucket (no pattern of calls exceeds the limit)
  lateness up to 80 ms: is made up for, at twice the pace, so late wake-ups cost no rate
      test_token_bucket (stalls of 20 ms); benchmarks/pacing
  pause of a second: 5 % fewer permits for a second; what is written as connections open arrives together
      test_arrival_estimate (connections open); benchmarks/pacing
arrival_estimate.py: from when a request counts in that ring.
  late reply: moves its request to its arrival, because the service counts arrivals, not writes
      test_arrival_estimate (stalls); benchmarks/pacing
  many late replies: the service is uneven, and a late reply shows no late arrival
      test_arrival_estimate (uneven); benchmarks/pacing
  silence of an uneven service: what was written in it arrived at its end
      test_arrival_estimate (uneven, stalls)
  silence while this process stood still: shows nothing
      test_arrival_estimate (stood still)
rate_governor.py: the bucket's rate, between a floor and the limit.
  throttled replies of a second: lower the rate to what the service took, because it takes less than its limit
      test_rate_governor (waste against the true limit)
  few throttles after four calm seconds: change nothing, because a stall caused them
      test_rate_governor (a stall costs nothing)
  five minutes at the floor: suspend the number, because a quota is used up
      test_rate_governor (quota)
in_flight.py: how many requests may be written beside those without a reply, and how many connections opened.
  rate × median latency: twice as many may be in flight (Little's law)
      test_in_flight (a slow service; a stall)
  no free connection for 50 ms: one more, because few slow replies may hold most connections
      test_in_flight (few slow replies)
  replies of two seconds: cap in-flight requests at eight seconds of them, or a service that queues times out
      test_in_flight (queues)
  full core (loop_load.py): few connections, and no latency is learnt, also while ticks are late
      benchmarks/throughput
claim_ahead.py: how many messages may be claimed and not yet written.
  write rate: lowers it where messages are written more slowly than permitted, or claims expire unwritten
      test_claim_ahead
circuit_breaker.py: whether anything may be claimed. One for the process.
  failures in a row: stop claims, then one message probes, so that few recipients retry or are in doubt
      test_circuit_breaker; tests/sending/test_faults

The parts meet in three places only: the governor sets the bucket's rate, a late reply moves a write in the
bucket's ring, and the rate sets how much may be in flight and claimed ahead.
"""
