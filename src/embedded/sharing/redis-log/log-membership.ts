import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { LogPlace } from '../shared-log.ts';
import { LogEnded } from './log-options.ts';
import type { RawReply, RedisLink } from './redis-link.ts';

const LOOK_MS = 50;

export interface Voter {
  readonly nodeId: number;
  readonly isSeed: boolean;
  /** How far it has come; null: it has nothing. */
  readonly place: LogPlace | null;
  /** Name of the epoch that begins when this node finds that one has to. */
  readonly epoch: string;
  /** How long the others are waited for (ms). */
  readonly patience: number;
}

/**
 * Finds out, on a new link, whether this run is still part of the log, together with the other nodes when Redis is another process
 * than it was. Resolves with the number of the run's last batch that the log has.
 */
export async function meetAgain(link: RedisLink, run: string, voter: Voter): Promise<number> {
  for (;;) {
    const answer = await link.run('meet', link.server, String(voter.nodeId), run);
    if (typeof answer === 'number') return answer;
    if (String(answer) === 'VOTE') await vote(link, voter);
    else throw endOf(String(answer));
  }
}

export interface Joined {
  /** Of the record that says so. */
  readonly position: string;
  /** Null: a snapshot as of that record is on its way, by the name of the run. */
  readonly place: LogPlace | null;
}

/**
 * Makes a run part of the log. An older run of the node is ended; while its process is seen to be there, it is refused instead (TAKEN).
 * `attempts` are the runs for which no answer came.
 */
export async function join(
  link: RedisLink,
  run: string,
  voter: Voter,
  {
    beatMs,
    startingMs,
    attempts,
    signal,
  }: { beatMs: number; startingMs: number; attempts: ReadonlySet<string>; signal: AbortSignal | undefined },
): Promise<Joined> {
  const { nodeId } = voter;
  // The first record of an epoch that the seed has begun, should it be the cluster's first one.
  const place = voter.place ?? (voter.isSeed ? { epoch: voter.epoch, position: '1-1', members: [] } : null);
  let older = '';
  let beat = '';
  for (;;) {
    signal?.throwIfAborted();
    const reply = textsOf(
      await link.run(
        'join',
        link.server,
        String(nodeId),
        run,
        place?.epoch ?? '',
        place?.position ?? '',
        older,
        attempts.has(older) ? 'any' : beat,
        link.keys.wanted,
        String(startingMs),
      ),
    );
    const [answer] = reply;
    if (answer === 'JOINED') return { position: reply[2] ?? '', place: reply[3] === '1' ? place : null };
    if (answer === 'VOTE') {
      await vote(link, voter);
      continue;
    }
    const [, takenBy = '', takenBeat = ''] = reply;
    if (takenBy === older && takenBeat !== beat && !attempts.has(older)) {
      throw new LogEnded(
        'TAKEN',
        `node ${nodeId} is there already: another process takes part in the cluster as this node`,
      );
    }
    [older, beat] = [takenBy, takenBeat];
    if (!attempts.has(older)) await delay(1.5 * beatMs, undefined, { signal });
  }
}

/** One vote, and a little time when the others have not voted yet. */
async function vote(link: RedisLink, { nodeId, place, epoch, isSeed, patience }: Voter): Promise<void> {
  const [generation = 0, number = 0] = place?.position.split('-').map(Number) ?? [];
  const members = Object.fromEntries((place?.members ?? []).map((member) => [member.nodeId, member]));
  const said = JSON.stringify({ generation, number, epoch: place?.epoch ?? '', members, isSeed });
  const answer = await link.run('vote', link.server, String(nodeId), said, String(patience), epoch);
  if (String(answer) !== 'DECIDED') await delay(LOOK_MS);
}

/** What a script says of a run that cannot go on. */
export function endOf(answer: string): LogEnded {
  if (answer === 'TAKEN') return new LogEnded('TAKEN', 'another process takes part in the cluster as this node');
  return new LogEnded(
    'LOST',
    'the cluster goes on without this run of the node: the other nodes have not heard of it for too long',
  );
}

/** A name that nobody else has. */
export function newName(): string {
  return randomBytes(12).toString('base64url');
}

export function textsOf(reply: RawReply): string[] {
  return Array.isArray(reply) ? reply.map(String) : [String(reply)];
}
