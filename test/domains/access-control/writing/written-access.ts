import { onTestFinished } from 'vitest';
import { AccessIndex } from '../../../../src/domains/access-control/reading/access-index.ts';
import type { AccessChange } from '../../../../src/domains/access-control/writing/access-change.ts';
import {
  AccessWriter,
  type AccessWriterOptions,
} from '../../../../src/domains/access-control/writing/access-writer.ts';
import { WriteQueue } from '../../../../src/domains/access-control/writing/write-queue.ts';
import type { AccessPolicy } from '../../../../src/protocol/apis/access-control/access-model.ts';
import { BrokerControls } from '../../../../src/protocol/control/broker-controls.ts';
import { DYNSEC_API } from '../../../../src/protocol/control/dynamic-security.ts';
import type { ControlCall } from '../../../../src/protocol/control/plugin.ts';
import { connectedLink } from '../../../support/link.ts';
import { ADMIN } from '../../../support/mosquitto.ts';

interface WritingOptions extends Partial<Pick<AccessWriterOptions, 'connectedClients' | 'readBackMs'>> {
  readonly username?: string;
  readonly password?: string;
  readonly timeoutMs?: number;
  /** Runs before a payload is sent, with the number of previous payloads. */
  readonly onPayload?: (count: number) => void;
}

/** A writer on a real broker, and what it sends. Closed when the test ends. */
export async function openWriting(url: string, options: WritingOptions = {}) {
  const { username = ADMIN.username, password = ADMIN.password, timeoutMs = 30_000, onPayload, ...rest } = options;
  const link = await connectedLink({ url, username, password });
  const controls = new BrokerControls(link, { timeoutMs, silenceMs: 3_000 });
  const index = new AccessIndex({ controls, session: link });
  onTestFinished(async () => {
    index.close();
    await controls.close();
  });
  const payloads: (readonly ControlCall[])[] = [];
  const writer = new AccessWriter({
    index,
    session: link,
    gatewayUsername: username,
    controls: {
      callAll: (api, commands) => {
        onPayload?.(payloads.length);
        payloads.push(commands);
        return controls.callAll(api, commands);
      },
    },
    connectedClients: async () => ({ clients: [], isComplete: true }),
    ...rest,
  });
  const queue = new WriteQueue((writes) => writer.write(writes));
  return {
    link,
    controls,
    index,
    writer,
    payloads,
    /** Names of all commands that were sent. */
    sent: () => payloads.flatMap((payload) => payload.map(({ command }) => command)),
    apply: (...changes: AccessChange[]) => queue.write({ changes, mayControl: true }),
    dryRun: (...changes: AccessChange[]) => writer.dryRun({ changes, mayControl: true }),
    /** As another administrator does, with no eye on anything. */
    send: async (...commands: ControlCall[]) => {
      const results = await controls.callAll(DYNSEC_API, commands);
      for (const result of results) if (result.status === 'rejected') throw result.reason;
    },
    /** The policy of the broker, read without a cache. */
    fresh: async (): Promise<AccessPolicy> => {
      const other = new AccessIndex({ controls, session: link });
      try {
        return (await other.current()).policy;
      } finally {
        other.close();
      }
    },
  };
}

export type Writing = Awaited<ReturnType<typeof openWriting>>;

/** Maps and drafts as plain data that `toEqual` compares. */
export const plain = ({ clients, groups, roles, defaultAcl, anonymousGroup }: AccessPolicy) => ({
  clients: Object.fromEntries([...clients].sort(byName)),
  groups: Object.fromEntries([...groups].sort(byName)),
  roles: Object.fromEntries([...roles].sort(byName)),
  defaultAcl,
  anonymousGroup,
});

const byName = ([a]: readonly [string, unknown], [b]: readonly [string, unknown]) => (a < b ? -1 : 1);

/** A membership. */
export const at = (name: string, priority = -1) => ({ name, priority });
