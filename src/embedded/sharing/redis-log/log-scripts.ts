/**
 * What Redis does in one step, so that no node can come between: Lua for `EVALSHA`, Redis 6.2 or newer. Each gets the keys of
 * log-keys.ts. The state is one hash:
 *
 *   epoch, generation     of the log as it is now; a generation begins whenever Redis may have lost something
 *   last                  number of the last record: its id in the stream is <generation>-<last>, so that a gap shows
 *   server                run_id of the Redis process that the nodes agreed on
 *   bytes                 of all batches that were ever appended; each record has in `t` what it was before
 *   run:N, number:N       node N is part of the log with this run, and its last batch
 *   beat:N, applied:N     its last heartbeat (ms, clock of Redis; of one that has not begun some minutes later), and what it had kept by then
 *   gone:N                since when it is lost
 *
 * A record of the stream is a batch (`b`) or something of the log's own (`s`, JSON: joined, lost, begun). Who is not a member with the
 * run that it names cannot append: a node that was declared lost stays so, whatever it has sent.
 */
const COMMON = `
local STATE, LOG, VOTES = KEYS[1], KEYS[2], KEYS[3]
local function clock()
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end
local function text(number) return string.format('%.0f', number) end
local function place(position)
  local generation, number = string.match(position, '^(%d+)-(%d+)$')
  return tonumber(generation), tonumber(number)
end
local function fields()
  local flat, named = redis.call('HGETALL', STATE), {}
  for i = 1, #flat, 2 do named[flat[i]] = flat[i + 1] end
  return named
end
local function add(record)
  local at = redis.call('HMGET', STATE, 'generation', 'last', 'bytes')
  local last = text(at[2] + 1)
  redis.call('XADD', LOG, at[1] .. '-' .. last, 's', cjson.encode(record), 't', at[3])
  redis.call('HSET', STATE, 'last', last)
  return at[1] .. '-' .. last
end
local function lose(node, run, isTaken)
  add({ type = 'lost', nodeId = tonumber(node), run = run, isTaken = isTaken, at = clock() })
  redis.call('HDEL', STATE, 'run:' .. node, 'number:' .. node, 'beat:' .. node)
  redis.call('HSET', STATE, 'gone:' .. node, text(clock()))
end
`;

/** node, run, number, batch -> OK | GAP | TAKEN | LOST | GONE. A batch that is there already is OK. */
const APPEND = `
local node, run = ARGV[1], ARGV[2]
local at = redis.call('HMGET', KEYS[1], 'generation', 'last', 'bytes', 'run:' .. node, 'number:' .. node)
if not at[1] then return 'GONE' end
if at[4] ~= run then return at[4] and 'TAKEN' or 'LOST' end
local number = tonumber(ARGV[3])
if number <= tonumber(at[5]) then return 'OK' end
if number > at[5] + 1 then return 'GAP' end
local last = string.format('%.0f', at[2] + 1)
redis.call('XADD', KEYS[2], at[1] .. '-' .. last, 'b', ARGV[4], 't', at[3])
redis.call('HSET', KEYS[1], 'last', last, 'bytes', string.format('%.0f', at[3] + #ARGV[4]), 'number:' .. node, ARGV[3])
return 'OK'
`;

/** server, node, run -> VOTE | TAKEN | LOST | number of the last batch of this run. */
const MEET = `
local at = redis.call('HMGET', STATE, 'epoch', 'server', 'run:' .. ARGV[2], 'number:' .. ARGV[2])
if not at[1] or at[2] ~= ARGV[1] then return 'VOTE' end
if at[3] ~= ARGV[3] then return at[3] and 'TAKEN' or 'LOST' end
return tonumber(at[4])
`;

/**
 * server, node, vote (JSON: generation, number, epoch, members by node, isSeed), ms to wait for the others, epoch to begin
 * -> DECIDED | WAIT.
 *
 * The one that has come farthest tells what the cluster has: Redis itself, when it has lost nothing that somebody applied, or a node.
 * It is decided when all that were members there have voted or the time is over. Either way a new generation begins, and its first
 * record says after which place of which epoch: whoever is at another place cannot go on from there.
 */
const VOTE = `
local server, node, window, epoch = ARGV[1], ARGV[2], tonumber(ARGV[4]), ARGV[5]
local state = fields()
if state.epoch and state.server == server then return 'DECIDED' end
redis.call('HSETNX', VOTES, 'since', text(clock()))
redis.call('HSET', VOTES, 'of:' .. node, ARGV[3])
redis.call('PEXPIRE', VOTES, 60000)
local flat, voters, best, since, seed = redis.call('HGETALL', VOTES), {}, nil, 0, false
for i = 1, #flat, 2 do
  local voter = string.match(flat[i], '^of:(%d+)$')
  if voter then
    local vote = cjson.decode(flat[i + 1])
    voters[voter] = true
    seed = seed or vote.isSeed
    if vote.generation > 0 and (not best or vote.generation > best.generation
      or (vote.generation == best.generation and vote.number > best.number)) then best = vote end
  else
    since = tonumber(flat[i + 1])
  end
end
local generation, number = tonumber(state.generation), tonumber(state.last)
local stands = state.epoch and (not best or generation > best.generation
  or (generation == best.generation and number >= best.number))
local members = {}
if stands then
  for name, value in pairs(state) do
    local id = string.match(name, '^run:(%d+)$')
    if id then members[id] = { run = value, number = tonumber(state['number:' .. id]) } end
  end
elseif best then
  members, generation, number = best.members, best.generation, best.number
elseif seed then
  generation, number = 0, 0
else
  return 'WAIT'
end
local time = clock()
for id in pairs(members) do
  if not voters[id] and time - since < window then return 'WAIT' end
end
local former = { epoch = stands and state.epoch or best and best.epoch or '', position = text(generation) .. '-' .. text(number) }
if not stands then redis.call('DEL', STATE, LOG) end
redis.call('HSET', STATE, 'epoch', epoch, 'generation', text(generation + 1), 'last', '0', 'server', server,
  'bytes', stands and state.bytes or '0')
for id, member in pairs(members) do
  redis.call('HSET', STATE, 'run:' .. id, member.run, 'number:' .. id, text(member.number), 'beat:' .. id, text(time),
    'applied:' .. id, stands and state['applied:' .. id] or former.position)
end
add({ type = 'begun', epoch = epoch, former = former, members = members })
redis.call('DEL', VOTES)
return 'DECIDED'
`;

/**
 * server, node, run, epoch and position of the node's place (or empty), older run that may be ended, its heartbeat (or any), key of what
 * is wanted, ms that its first heartbeat may take longer
 * -> VOTE | { TAKEN, run, heartbeat } | { JOINED, epoch, position of the record, 1: the node can go on from its place }.
 *
 * A node begins with an end of the run that it had before, whose process may still be there: the caller looks at its heartbeat twice.
 */
const JOIN = `
local server, node, run, epoch, position, seenRun, seenBeat, wanted, lead = unpack(ARGV)
local state = fields()
if not state.epoch or state.server ~= server then return { 'VOTE' } end
local older = state['run:' .. node]
if older then
  local beat = state['beat:' .. node]
  if older ~= seenRun or (seenBeat ~= 'any' and beat ~= seenBeat) then return { 'TAKEN', older, beat } end
  lose(node, older, true)
end
local goesOn = false
if epoch ~= '' then
  local generation, number = place(position)
  local after = redis.call('XRANGE', LOG, text(generation) .. '-' .. text(number + 1), '+', 'COUNT', 1)[1]
  if not after then
    goesOn = epoch == state.epoch and position == state.generation .. '-' .. state.last
  elseif after[1] == text(generation) .. '-' .. text(number + 1) then
    goesOn = text(generation) ~= state.generation or epoch == state.epoch
  elseif after[2][1] == 's' then
    local record = cjson.decode(after[2][2])
    goesOn = record.type == 'begun' and record.former.epoch == epoch and record.former.position == position
  end
end
local record = { type = 'joined', nodeId = tonumber(node), run = run }
if not goesOn then
  record.wanted = run
  redis.call('SET', wanted .. run, '1', 'PX', 30000)
end
local at = add(record)
redis.call('HSET', STATE, 'run:' .. node, run, 'number:' .. node, '0', 'beat:' .. node, text(clock() + lead),
  'applied:' .. node, goesOn and position or at)
redis.call('HDEL', STATE, 'gone:' .. node)
return { 'JOINED', state.epoch, at, goesOn and 1 or 0 }
`;

/**
 * node, run, what it has kept, ms after which a node is lost, how late the own heartbeat may be, ms to keep the place of those that
 * are gone, bytes to keep, ms that the next heartbeat may take longer -> { TAKEN | LOST | GONE } | { OK | FULL, generation, last, then node and 1 (alive) or 0 (gone) of each }.
 *
 * Somebody whose own heartbeat comes late, or who has not begun, tells nothing about others: it or Redis may have stood still. Without memory nothing is
 * written, but what no node needs any more is still dropped.
 */
const BEAT = `
local node, run, applied = ARGV[1], ARGV[2], ARGV[3]
local expiry, late, retention, most = tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7])
local lead = tonumber(ARGV[8])
local state = fields()
if not state.epoch then return { 'GONE' } end
local current = state['run:' .. node]
if current ~= run then return { current and 'TAKEN' or 'LOST' } end
local time = clock()
local age = time - state['beat:' .. node]
local judges = age >= 0 and age <= late
local kept = redis.pcall('HSET', STATE, 'beat:' .. node, text(time + lead), 'applied:' .. node, applied)
local isFull = type(kept) == 'table' and kept.err
state['applied:' .. node] = applied
local answer = { isFull and 'FULL' or 'OK', state.generation, state.last }
local function tell(id, isAlive)
  answer[#answer + 1] = id
  answer[#answer + 1] = isAlive
end
local least, leastGeneration, leastNumber
for name, value in pairs(state) do
  local kind, id = string.match(name, '^(%a+):(%d+)$')
  if kind == 'run' then
    local isAlive = id == node or not judges or isFull or time - state['beat:' .. id] <= expiry
    if not isAlive then lose(id, value) end
    tell(id, isAlive and '1' or '0')
  elseif kind == 'gone' then
    if time - value > retention then
      redis.call('HDEL', STATE, 'gone:' .. id, 'applied:' .. id)
    else
      tell(id, '0')
    end
  elseif kind == 'applied' and not (state['gone:' .. id] and time - state['gone:' .. id] > retention) then
    local generation, number = place(value)
    if not least or generation < leastGeneration or (generation == leastGeneration and number < leastNumber) then
      least, leastGeneration, leastNumber = value, generation, number
    end
  end
end
if least then redis.call('XTRIM', LOG, 'MINID', '~', least) end
local first = redis.call('XRANGE', LOG, '-', '+', 'COUNT', 1)[1]
if first and state.bytes - first[2][4] > most then
  local generation, number = place(first[1])
  local half = text(number + math.ceil((state.last - number) / 2))
  if text(generation) ~= state.generation then half = '0' end
  redis.call('XTRIM', LOG, 'MINID', state.generation .. '-' .. half)
end
return answer
`;

/** node, run -> OK. */
const LEAVE = `
local run = redis.call('HGET', STATE, 'run:' .. ARGV[1])
if run == ARGV[2] then lose(ARGV[1], run) end
return 'OK'
`;

export const LOG_SCRIPTS = {
  append: APPEND,
  meet: COMMON + MEET,
  vote: COMMON + VOTE,
  join: COMMON + JOIN,
  beat: COMMON + BEAT,
  leave: COMMON + LEAVE,
} as const;

export type LogScript = keyof typeof LOG_SCRIPTS;
