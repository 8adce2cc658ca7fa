import { expect, test } from 'vitest';
import { BridgeHosts } from '../../../../src/domains/bridges/hosting/bridge-hosts.ts';
import type { Bridge } from '../../../../src/domains/bridges/model/bridge.ts';

const CONFIG = { connections: [] };
const place = (bridgeId: string) => ({
  brokerId: 'plant',
  bridgeId,
  local: { id: 'plant', url: 'mqtt://127.0.0.1', timeoutMs: 1_000 },
  rules: { allowedHosts: [] },
  folder: '/nowhere',
});
const never = new Promise<void>(() => undefined);

/** What hangs, by the kind's name, and nothing else. */
const hangingBridge = (bridgeId: string): Bridge => ({
  apply: () => (bridgeId === 'hangs-in-apply' ? never : Promise.resolve()),
  status: () => [],
  onStatus: () => () => undefined,
  close: () => (bridgeId === 'hangs-in-close' ? never : Promise.resolve()),
});

test.each(['hangs-in-close', 'hangs-in-apply'])(
  'a bridge that %s ends all the same, is told, and the next one of its kind begins',
  async (bridgeId) => {
    const problems: string[] = [];
    const voice = {
      tell: () => undefined,
      problem: (_level: string, _fields: object, text: string) => problems.push(text),
    };
    let started = 0;
    const hosts = new BridgeHosts(
      voice,
      async () => {
        started += 1;
        return hangingBridge(started === 1 ? bridgeId : 'works');
      },
      20,
    );
    hosts.order({ bridge: 1, place: place(bridgeId) });
    const applied = hosts.ask({ type: 'apply', bridge: 1, config: CONFIG });
    if (bridgeId === 'hangs-in-close') await applied;
    const closed = hosts.ask({ type: 'close', bridge: 1, forGood: false });
    hosts.order({ bridge: 2, place: place(bridgeId) });
    const next = hosts.ask({ type: 'apply', bridge: 2, config: CONFIG });
    await closed;
    expect(problems).toEqual(['a bridge did not end in time']);
    expect(await next).toEqual([]);
    await hosts.ask({ type: 'close', bridge: 2, forGood: false });
    expect(problems).toHaveLength(1);
  },
);
