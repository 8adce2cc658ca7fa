import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ADMIN, startMosquitto } from '../../support/mosquitto.ts';
import { FuzzedBroker } from './fuzzed-broker.ts';
import { MARKER, Observer } from './observer.ts';
import type { Stage } from './play.ts';

/** One of the brokers that are compared, with its observer. */
export interface Party {
  readonly name: string;
  readonly stage: Stage;
  readonly observer: Observer;
  /** Faults of the broker. */
  readonly faults: readonly string[];
  close(): Promise<void>;
}

/** Whether a message on this topic comes from the broker or the test, not from a client of a sequence. */
export const isOfBroker = (topic: string): boolean => topic.startsWith('$') || topic === 'healthy' || topic === MARKER;

export async function embeddedParty(): Promise<Party> {
  const stage = await FuzzedBroker.start();
  const observer = await Observer.start(stage.port, stage.account, isOfBroker);
  const close = async () => {
    observer.close();
    await stage.close();
  };
  return { name: 'embedded', stage, observer, faults: stage.faults, close };
}

/** Mosquitto with a store on disk, so that sessions and retained messages survive a restart. */
export async function mosquittoParty(): Promise<Party> {
  const folder = mkdtempSync(join(tmpdir(), 'fuzzed-mosquitto-'));
  const mosquitto = await startMosquitto({
    access: 'passwords',
    sysInterval: 0,
    lines: ['persistence true', `persistence_location ${folder}/`],
  });
  const observer = await Observer.start(mosquitto.port, ADMIN, isOfBroker);
  const stage: Stage = {
    port: mosquitto.port,
    account: ADMIN,
    hasFailed: false,
    settle: () => observer.settle(),
    restart: async () => {
      // Not killed, because Mosquitto would lose unsaved data, unlike the embedded broker.
      await mosquitto.stop();
      await mosquitto.start();
      await observer.settle();
    },
  };
  const close = async () => {
    observer.close();
    await mosquitto.kill();
    rmSync(folder, { recursive: true, force: true });
  };
  return { name: 'Mosquitto', stage, observer, faults: [], close };
}
