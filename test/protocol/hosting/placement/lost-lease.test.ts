import { describe, expect, onTestFinished, test } from 'vitest';
import { SharedPlacement } from '../../../../src/protocol/hosting/placement/placement.ts';
import { openTestStorage } from '../../../support/database.ts';
import { UNAVAILABLE, usePostgres } from '../../../support/postgres.ts';
import { endLeaseSessions } from '../../../support/postgres-client.ts';

const postgres = usePostgres();

/** More than a process gives away at the same time. */
const BROKERS = ['a', 'b', 'c', 'd', 'e', 'f'];

interface Heard {
  readonly brokerId: string;
  readonly isHeld: boolean;
}

/** A process that has the leases of all brokers. Their work ends when `end` is called. */
async function startPlacement(databaseUrl: string) {
  const { leases } = await openTestStorage({ databaseUrl });
  let isMine = true;
  let look: () => void = () => undefined;
  const placement = new SharedPlacement(leases, {
    isMine: () => isMine,
    onChange: (listener) => {
      look = listener;
    },
  });
  let end: () => void = () => undefined;
  const ended = new Promise<void>((resolve) => {
    end = resolve;
  });
  onTestFinished(end);
  const heard: Heard[] = [];
  for (const brokerId of BROKERS) {
    placement.want(brokerId, async (isHeld) => {
      heard.push({ brokerId, isHeld });
      if (!isHeld) await ended;
    });
  }
  await expect.poll(() => heard.length).toBe(BROKERS.length);
  /** The brokers whose work was ended. */
  const ending = () => [...new Set(heard.filter(({ isHeld }) => !isHeld).map(({ brokerId }) => brokerId))].sort();
  const place = (mine: boolean) => {
    isMine = mine;
    look();
  };
  return { placement, heard, ending, end, place };
}

describe.skipIf(!postgres.available)(`on PostgreSQL${postgres.available ? '' : ` (${UNAVAILABLE})`}`, () => {
  test('the work of a broker that waits to be given away ends when its lease is lost, and starts here no more', async () => {
    const databaseUrl = await postgres.createDatabase();
    const { placement, heard, ending, end, place } = await startPlacement(databaseUrl);
    place(false);
    // The others wait, and run.
    expect(ending()).toHaveLength(4);

    await endLeaseSessions(databaseUrl);
    await expect.poll(ending).toEqual(BROKERS);

    const { leases } = await openTestStorage({ databaseUrl });
    const others = BROKERS.map((brokerId) => leases.want(`broker:${brokerId}`, () => undefined));
    end();
    await expect.poll(() => others.every(({ held }) => held)).toBe(true);
    expect(placement.held).toEqual([]);
    expect(heard.filter(({ isHeld }) => isHeld)).toHaveLength(BROKERS.length);
  });

  test('a broker whose lease was lost is given away when its work has ended, and may return', async () => {
    const databaseUrl = await postgres.createDatabase();
    const { heard, ending, end, place } = await startPlacement(databaseUrl);
    place(false);
    place(true);
    expect(ending()).toHaveLength(4);
    end();
    await expect.poll(() => heard.filter(({ isHeld }) => isHeld).length).toBe(2 * BROKERS.length);
    expect(ending()).toEqual(BROKERS);
  });
});
