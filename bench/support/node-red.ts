/** Node-RED without editor and log, with one flow: mqtt in, json, change, mqtt out, at QoS 1. */
import { spawn } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Peer } from './republish-peer.ts';
import { watch } from './watchdog.ts';

/** run.mjs runs benchmarks in the root of the project. */
const RED = resolve('bench/node_modules/node-red/red.js');

/** Does not wait for the start. The probe of the benchmark waits for its first message. */
export function startNodeRed(parent: string, port: number, source: string, target: string): Peer {
  const userDir = join(parent, 'node-red');
  mkdirSync(userDir);
  const settings = {
    flowFile: 'flows.json',
    credentialSecret: false,
    httpAdminRoot: false,
    httpNodeRoot: false,
    disableEditor: true,
    telemetry: { enabled: false, updateNotification: false },
    logging: { console: { level: 'off', metrics: false, audit: false } },
  };
  writeFileSync(join(userDir, 'settings.js'), `module.exports = ${JSON.stringify(settings)};\n`);
  writeFileSync(join(userDir, 'flows.json'), JSON.stringify(flows(port, source, target)));
  const child = spawn(process.execPath, [RED, '--userDir', userDir], {
    stdio: ['ignore', 'ignore', 'inherit'],
    env: { ...process.env, NODE_ENV: 'production' },
    detached: true,
  });
  const pid = child.pid ?? 0;
  const callOff = watch(pid);
  return {
    pid,
    close: () => {
      child.kill('SIGKILL');
      callOff();
    },
  };
}

function flows(port: number, source: string, target: string): object[] {
  // Node-RED treats a node without a position as a configuration node.
  const node = { z: 'tab', x: 100, y: 100 };
  const set = (p: string, to: string) => ({ t: 'set', p, pt: 'msg', to, tot: 'msg' });
  return [
    { id: 'tab', type: 'tab', label: 'bench' },
    { id: 'broker', type: 'mqtt-broker', broker: '127.0.0.1', port: String(port), clientid: 'bench-node-red' },
    {
      id: 'in',
      type: 'mqtt in',
      ...node,
      topic: source,
      qos: '1',
      datatype: 'auto',
      broker: 'broker',
      wires: [['json']],
    },
    { id: 'json', type: 'json', ...node, property: 'payload', action: 'obj', wires: [['change']] },
    {
      id: 'change',
      type: 'change',
      ...node,
      rules: [
        { t: 'set', p: 'picked', pt: 'msg', to: '{}', tot: 'json' },
        set('picked.device', 'payload.device'),
        set('picked.temperature', 'payload.values.temperature'),
        set('picked.pressure', 'payload.values.pressure'),
        set('payload', 'picked'),
      ],
      wires: [['out']],
    },
    { id: 'out', type: 'mqtt out', ...node, topic: target, qos: '1', retain: 'false', broker: 'broker', wires: [] },
  ];
}
