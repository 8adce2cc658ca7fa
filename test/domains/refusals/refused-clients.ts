import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createConnection } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type ConnectionOptions, connect as connectTls } from 'node:tls';
import { generate, type IConnectPacket, type Packet } from 'mqtt-packet';
import { onTestFinished } from 'vitest';
import { createSelfSigned } from '../../support/certificates.ts';
import type { TestService } from '../../support/service.ts';
import { subscribe } from '../../support/subscription.ts';

type Connect = Partial<IConnectPacket> | Buffer | string;

/** Sends packets or bytes and waits for nothing: what becomes of them is reported by the broker. */
export function sendRaw(port: number, connect: Connect, ...packets: readonly (Packet | Buffer)[]): void {
  const version = typeof connect === 'object' && 'protocolVersion' in connect ? connect.protocolVersion : 4;
  const socket = createConnection(port, '127.0.0.1');
  onTestFinished(() => void socket.destroy());
  socket.on('error', () => {});
  const bytesOf = (packet: Packet | Buffer) =>
    Buffer.isBuffer(packet) ? packet : generate(packet, { protocolVersion: version });
  if (typeof connect === 'string' || Buffer.isBuffer(connect)) socket.write(connect);
  else {
    const usual = { cmd: 'connect', protocolId: 'MQTT', protocolVersion: 4, clean: true, keepalive: 60 } as const;
    socket.write(bytesOf({ ...usual, clientId: '', ...connect }));
  }
  // The next packet follows the answer to CONNECT.
  socket.once('data', () => {
    for (const packet of packets) socket.write(bytesOf(packet));
  });
}

/** Connects from an address of loopback. Resolves when the broker has responded. */
export async function joinFrom(localAddress: string, port: number, connect: Partial<IConnectPacket>): Promise<void> {
  const socket = createConnection({ port, host: '127.0.0.1', localAddress });
  onTestFinished(() => void socket.destroy());
  socket.on('error', () => {});
  // It sends nothing more.
  const usual = { cmd: 'connect', protocolId: 'MQTT', protocolVersion: 4, clean: true, keepalive: 0 } as const;
  socket.write(generate({ ...usual, clientId: '', ...connect }));
  await once(socket, 'data');
}

/** A TLS handshake that may fail. */
export function shakeHands(port: number, options: ConnectionOptions = {}): void {
  const socket = connectTls({ port, host: '127.0.0.1', rejectUnauthorized: false, ...options });
  onTestFinished(() => void socket.destroy());
  socket.on('error', () => {});
}

/** A client that does not trust the broker's certificate and says so; Node.js does that only after the handshake. */
export function distrust(port: number): void {
  const folder = mkdtempSync(join(tmpdir(), 'distrust-'));
  const file = join(folder, 'ca.pem');
  writeFileSync(file, createSelfSigned().leaf);
  const client = spawn('mosquitto_pub', ['-h', 'localhost', '-p', String(port), '--cafile', file, '-t', 'a', '-n']);
  client.on('error', () => {});
  onTestFinished(() => {
    client.kill();
    rmSync(folder, { recursive: true, force: true });
  });
}

export interface SeenRefusal {
  readonly id: string;
  readonly kind: string;
  readonly reason: string;
  readonly clientId: string | null;
  readonly username: string | null;
  readonly address: string | null;
  readonly listenerPort: number | null;
  readonly topic: string | null;
  readonly reasonCode: number | null;
  readonly detail: string | null;
  readonly takenOverBy: { readonly username: string | null; readonly address: string | null } | null;
  readonly count: number;
  readonly whatWouldHelp: string;
  readonly decision: string | null;
  readonly decidedBy: { readonly roleName: string; readonly rule: { readonly topic: string } | null } | null;
}

export const REFUSAL_FIELDS =
  'id kind reason clientId username address listenerPort topic reasonCode detail takenOverBy { username address } count whatWouldHelp decision decidedBy { roleName groupName priority verdict rule { aclType topic priority allow } }';

const WATCH = `subscription ($id: ID!, $after: SafeInt) { refusals(brokerId: $id, after: $after) {
  kind sequence partsLeft removed isConnected refusals { ${REFUSAL_FIELDS} }
} }`;

/** Refusals as the subscription sends them. `next` waits for one. */
export async function watchRefusals(service: TestService, brokerId: string) {
  const events = subscribe(service, service.root, WATCH, { id: brokerId });
  await events.until(({ refusals }) => refusals.kind === 'SNAPSHOT' && refusals.partsLeft === 0);
  const seen: SeenRefusal[] = [];
  const next = async (fits: (refusal: SeenRefusal) => boolean): Promise<SeenRefusal> => {
    await events.until(({ refusals }) => {
      seen.push(...refusals.refusals);
      return seen.some(fits);
    });
    return seen.find(fits) as SeenRefusal;
  };
  const clear = () => void seen.splice(0);
  return { next, clear, events };
}

const LIST = `query ($id: ID!, $first: Int, $after: String, $filter: ClientFilter, $clientId: String, $username: String, $kinds: [RefusalKind!], $reasons: [RefusalReason!]) {
  broker(id: $id) { refusals(first: $first, after: $after, filter: $filter, clientId: $clientId, username: $username, kinds: $kinds, reasons: $reasons) {
    totalCount since droppedCount reportedKinds limit pageInfo { hasNextPage hasPreviousPage endCursor } nodes { ${REFUSAL_FIELDS} }
  } }
}`;

export const listRefusals = (service: TestService, id: string, args: object = {}, token = service.root) =>
  service.graphql(LIST, { id, ...args }, token);
