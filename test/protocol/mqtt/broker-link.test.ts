import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { EventEmitter, on, once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { generate, parser } from 'mqtt-packet';
import { expect, onTestFinished, test, vi } from 'vitest';
import { BrokerLink } from '../../../src/protocol/mqtt/broker-link.ts';
import { whenConnected } from '../../../src/protocol/mqtt/when-connected.ts';
import { createAuthority } from '../../support/certificates.ts';
import { freePort } from '../../support/free-port.ts';
import { connectedLink, openLink, reached } from '../../support/link.ts';
import { ADMIN, FOLLOWED_LOG, startMosquitto } from '../../support/mosquitto.ts';
import { startRefusingRelay } from '../../support/refusing-relay.ts';

test('a broker that stops and starts again is reported each time', async () => {
  const broker = await startMosquitto();
  const link = await connectedLink({ url: broker.url });
  const states: string[] = [];
  link.onStatus(({ state }) => states.push(state));
  for (let round = 0; round < 2; round++) {
    const lost = reached(link, 'UNREACHABLE');
    await (round === 0 ? broker.stop() : broker.kill());
    expect((await lost).lastError).toMatch(/^The broker (closed|reset) the connection$/);
    const back = reached(link, 'CONNECTED');
    await broker.start();
    await back;
  }
  expect(states).toEqual(['UNREACHABLE', 'CONNECTED', 'UNREACHABLE', 'CONNECTED']);
});

test('nothing is queued while the broker is unreachable, and subscriptions are restored', async () => {
  const broker = await startMosquitto();
  const link = await connectedLink({ url: broker.url });
  const heard: string[] = [];
  let next: () => void = () => undefined;
  await link.subscribe('a/#', ({ payload }) => {
    heard.push(Buffer.from(payload).toString());
    next();
  });
  const lost = reached(link, 'UNREACHABLE');
  await broker.stop();
  await lost;
  await expect(link.publish('a/1', 'lost', { qos: 1 })).rejects.toMatchObject({ code: 'BROKER_UNREACHABLE' });
  await expect(link.subscribe('b', () => undefined)).rejects.toMatchObject({ code: 'BROKER_UNREACHABLE' });
  const back = reached(link, 'CONNECTED');
  await broker.start();
  await back;
  const arrived = new Promise<void>((resolve) => {
    next = resolve;
  });
  await link.publish('a/1', 'after', { qos: 1 });
  await arrived;
  expect(heard).toEqual(['after']);
});

test('a client that takes over the client id of a link again and again cuts it twice, and writes wait meanwhile', async () => {
  const broker = await startMosquitto({ logTypes: FOLLOWED_LOG });
  const link = await connectedLink({ url: broker.url });
  // Mosquitto resets a connection that has not read all acknowledgements.
  await link.subscribe('$SYS/broker/log/#', () => undefined, { qos: 1 });
  const other = await broker.client({ clientId: 'other' });
  await other.subscribeAsync('a');
  const arrived = new Promise((resolve) => other.once('message', (_topic, payload) => resolve(String(payload))));
  const { clientId } = link;
  let cuts = 0;
  link.onStatus(({ state }) => (cuts += state === 'UNREACHABLE' ? 1 : 0));
  const cut = reached(link, 'UNREACHABLE');
  const thief = await broker.client({ clientId, reconnectPeriod: 10 });
  await cut;
  await whenConnected(link, 30_000);
  await link.publish('a', 'written', { qos: 1 });
  expect(await arrived).toBe('written');
  await expect
    .poll(() => [link.clientId === clientId, link.status.state, thief.connected])
    .toEqual([false, 'CONNECTED', true]);
  expect(cuts).toBeLessThan(3);
});

test('a takeover that the log reports changes the client id at the first cut, and its note expires', async () => {
  const broker = await startMosquitto();
  const link = await connectedLink({ url: broker.url });
  const { clientId } = link;
  const cut = reached(link, 'UNREACHABLE');
  link.noteTakeover('10.0.0.1');
  await broker.client({ clientId });
  expect((await cut).lastError).toBe('Another connection took over the client id: its address is 10.0.0.1');
  await whenConnected(link, 30_000);
  expect(link.clientId).not.toBe(clientId);
  const cutAgain = reached(link, 'UNREACHABLE');
  await broker.stop();
  expect((await cutAgain).lastError).not.toContain('took over');
});

test('a takeover that the broker reports only to the client has the address that is known', async () => {
  const sockets: Socket[] = [];
  const server = createServer((socket) => {
    const packets = parser({ protocolVersion: 5 });
    sockets.push(socket);
    socket.on('error', () => undefined);
    socket.on('data', (data) => packets.parse(data));
    packets.once('packet', () =>
      socket.write(
        generate({ cmd: 'connack', returnCode: 0, reasonCode: 0, sessionPresent: false }, { protocolVersion: 5 }),
      ),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const link = await connectedLink({ url: `mqtt://127.0.0.1:${port}` });
  const { clientId } = link;
  link.explainTakeovers(() => '10.0.0.2');
  const cut = reached(link, 'UNREACHABLE');
  sockets[0]?.write(generate({ cmd: 'disconnect', reasonCode: 0x8e }, { protocolVersion: 5 }));
  expect((await cut).lastError).toBe('Another connection took over the client id: its address is 10.0.0.2');
  await whenConnected(link, 30_000);
  expect(link.clientId).not.toBe(clientId);
});

test('a wrong password is UNAUTHORIZED without the password in the text, and a correct one connects', async () => {
  const broker = await startMosquitto({ access: 'passwords' });
  const link = openLink({ url: broker.url, username: ADMIN.username, password: 'not the password' });
  const status = await reached(link, 'UNAUTHORIZED');
  expect(status.lastError).toMatch(/user name or password|user to connect/);
  expect(status.lastError).not.toContain('not the password');
  expect(link.protocolVersion).toBeNull();
  const correct = openLink({ url: broker.url, ...ADMIN });
  expect(correct.status.state).toBe('CONNECTING');
  await reached(correct, 'CONNECTED');
  expect(correct.protocolVersion).toBe(5);
});

test('a closed port, an unknown host and a silent port have different errors', async () => {
  const refused = openLink({ url: `mqtt://127.0.0.1:${await freePort()}` });
  expect((await reached(refused, 'UNREACHABLE')).lastError).toMatch(/refused/);
  const unknown = openLink({ url: 'mqtt://broker.invalid:1883' });
  expect((await reached(unknown, 'UNREACHABLE')).lastError).toMatch(/resolved/);
  const server = createServer((socket) => socket.on('error', () => undefined)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const { port } = server.address() as { port: number };
  const silent = openLink({ url: `mqtt://127.0.0.1:${port}`, timeoutMs: 300 });
  expect((await reached(silent, 'UNREACHABLE')).lastError).toMatch(/did not answer in time/);
});

/** Resolves after this number of further attempts of all links. */
function attempts(wanted: number): Promise<void> {
  return new Promise((resolve) => {
    let count = 0;
    const opened = () => {
      count += 1;
      if (count === wanted) resolve();
    };
    subscribe('net.client.socket', opened);
    onTestFinished(() => void unsubscribe('net.client.socket', opened));
  });
}

/** Pauses have their full length. */
function longestPauses(): void {
  const random = vi.spyOn(Math, 'random').mockReturnValue(1);
  onTestFinished(() => random.mockRestore());
}

test('a closed port of a broker that was never connected is tried less and less often', async () => {
  const port = await freePort();
  longestPauses();
  const from = performance.now();
  const seven = attempts(7);
  openLink({ url: `mqtt://127.0.0.1:${port}` });
  await seven;
  // A restart would be assumed for 0.6 s.
  expect(performance.now() - from).toBeGreaterThan(1_500);
});

test('links to many brokers that restart at the same time share a rate of attempts', async () => {
  const broker = await startMosquitto();
  const links = await Promise.all(
    Array.from({ length: 50 }, (_, n) => connectedLink({ url: broker.url, id: `n${n}` })),
  );
  const lost = links.map((link) => reached(link, 'UNREACHABLE'));
  await broker.stop();
  await Promise.all(lost);
  const from = performance.now();
  await attempts(350);
  // Each of them every 100 ms takes 0.6 s.
  expect(performance.now() - from).toBeGreaterThan(1_000);
  const back = links.map((link) => reached(link, 'CONNECTED'));
  await broker.start();
  await Promise.all(back);
});

test('the addresses of a host name are checked against the allowed hosts at each connection, with every transport', async () => {
  const broker = await startMosquitto({ webSocket: true });
  const webSocketPort = new URL(broker.webSocketUrl).port;
  // No address to us, and 127.0.0.1 to the system's resolver.
  const name = '127.1';
  const of = (url: string, allowedHosts: readonly string[], isLasting = false) =>
    openLink({ url, allowedHosts, isLasting, clientId: `link-${isLasting}` });
  for (const url of [`mqtt://${name}:${broker.port}`, `mqtts://${name}:${broker.port}`]) {
    for (const isLasting of [false, true]) {
      expect((await reached(of(url, [name], isLasting), 'UNREACHABLE')).lastError).toBe(
        "The broker's host name resolves to an address that is not allowed (setting BROKER_ALLOWED_HOSTS)",
      );
    }
  }
  const webSocket = `ws://localhost:${webSocketPort}`;
  expect((await reached(of(webSocket, ['localhost', '10.0.0.0/8']), 'UNREACHABLE')).lastError).toContain('not allowed');
  for (const allowed of [[name, '127.0.0.1'], [name, '127.0.0.0/8'], []]) {
    await reached(of(`mqtt://${name}:${broker.port}`, allowed), 'CONNECTED');
  }
  await reached(of(webSocket, ['LocalHost']), 'CONNECTED');
  expect(() => of(`mqtt://${name}:${broker.port}`, ['127.0.0.1'])).toThrow('is not an allowed host');
  expect(() => of(`mqtt://127.0.0.1:${broker.port}`, ['localhost'])).toThrow('is not an allowed host');
});

test('a server that speaks garbage leaves the link UNREACHABLE and the process alive', async () => {
  const answers = [
    Buffer.from('HTTP/1.1 400 Bad Request\r\n\r\n'),
    Buffer.from([0x20, 0xff, 0xff, 0xff, 0xff]),
    Buffer.alloc(0),
    Buffer.alloc(70_000, 0xff),
  ];
  for (const answer of answers) {
    const server = createServer((socket) => {
      socket.on('error', () => undefined);
      socket.once('data', () => socket.end(answer));
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    onTestFinished(() => void server.close());
    const { port } = server.address() as { port: number };
    const link = openLink({ url: `mqtt://127.0.0.1:${port}`, timeoutMs: 500 });
    const { lastError } = await reached(link, 'UNREACHABLE');
    expect(lastError).toMatch(/^The broker/);
    await link.close();
  }
});

test('a broker that refuses MQTT 5 is connected with 3.1.1', async () => {
  // Answers CONNACK 1 to protocol level 5 and 0 to level 4, as a broker without MQTT 5 does.
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.once('data', (data) => {
      const level = data[data.indexOf('MQTT') + 4];
      if (level === 4) socket.write(Buffer.from([0x20, 2, 0, 0]));
      else socket.end(Buffer.from([0x20, 2, 0, 1]));
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const { port } = server.address() as { port: number };
  const link = await connectedLink({ url: `mqtt://127.0.0.1:${port}` });
  expect(link.protocolVersion).toBe(4);
});

test('reconnects to a broker that closes each connection immediately become less frequent', async () => {
  longestPauses();
  const times: number[] = [];
  let sixth: () => void = () => undefined;
  const isThere = new Promise<void>((resolve) => {
    sixth = resolve;
  });
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.once('data', () => socket.end(Buffer.from([0x20, 3, 0, 0, 0])));
    if (times.push(performance.now()) === 6) sixth();
  }).listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  openLink({ url: `mqtt://127.0.0.1:${port}` });
  await isThere;
  // Pauses of 50, 100, 200, 400 and 800 ms.
  expect(Number(times[5]) - Number(times[0])).toBeGreaterThan(1_100);
});

test('an attempt on request is shared by its callers, and two of them are at least half a second apart', async () => {
  const { port } = await startMosquitto();
  const relay = await startRefusingRelay(port);
  longestPauses();
  const link = openLink({ url: relay.url });
  // The next pause is a second.
  await relay.connections(6);
  await link.tryNow();
  const before = relay.times.length;
  for (let count = before + 1; count <= before + 3; count += 1) {
    await Promise.all(Array.from({ length: 20 }, () => link.tryNow()));
    expect(link.status).toMatchObject({ state: 'UNREACHABLE' });
    expect(relay.times).toHaveLength(count);
  }
  expect(Number(relay.times[before + 2]) - Number(relay.times[before])).toBeGreaterThan(950);
  relay.isUp = true;
  await link.tryNow();
  expect(link.status.state).toBe('CONNECTED');
  await link.tryNow();
  expect(relay.times).toHaveLength(before + 4);
  const waiting = openLink({ url: 'mqtt://127.0.0.1:9' });
  const trying = waiting.tryNow();
  await waiting.close();
  await trying;
  await waiting.tryNow();
  expect(waiting.status.state).toBe('CLOSED');
});

test('a broker without retained messages receives messages without RETAIN', async () => {
  const broker = await startMosquitto({ lines: ['retain_available false'] });
  const link = await connectedLink({ url: broker.url });
  await link.publish('a', 'to be retained', { qos: 1, retain: true });
  expect(link.status.state).toBe('CONNECTED');
});

test('TLS: the broker is verified with the configured authority', async () => {
  const broker = await startMosquitto({ tls: 'server' });
  const ca = broker.certificates?.ca ?? '';
  const trusted = await connectedLink({ url: broker.url, ca });
  expect(trusted.protocolVersion).toBe(5);
  const untrusted = openLink({ url: broker.url });
  expect((await reached(untrusted, 'UNREACHABLE')).lastError).toMatch(
    /^The certificate of the broker is signed by a CA that is not known.*: add the certificate of this CA as CA certificate/,
  );
  await connectedLink({ url: broker.url, verifyCa: false });
  const plain = openLink({ url: broker.url.replace('mqtts', 'mqtt'), timeoutMs: 1_000 });
  expect((await reached(plain, 'UNREACHABLE')).lastError).toMatch(/^The broker/);
});

test('TLS: a certificate for another host is refused', async () => {
  const broker = await startMosquitto({ tls: 'server', tlsHost: 'elsewhere.example' });
  const link = openLink({ url: broker.url, ca: broker.certificates?.ca ?? '' });
  expect((await reached(link, 'UNREACHABLE')).lastError).toMatch(
    /another host name than localhost: it has elsewhere.example$/,
  );
});

test('TLS: a broker that requires a client certificate is named in the error, and accepts one', async () => {
  const broker = await startMosquitto({ tls: 'mutual' });
  const { ca, cert, key } = broker.certificates ?? { ca: '', cert: '', key: '' };
  const without = openLink({ url: broker.url, ca });
  expect((await reached(without, 'UNREACHABLE')).lastError).toMatch(/client certificate|closed the connection|reset/);
  await connectedLink({ url: broker.url, ca, cert, key });
  const other = createAuthority().issue();
  const refused = openLink({ url: broker.url, ca, cert: other.cert, key: other.key });
  expect((await reached(refused, 'UNREACHABLE')).lastError).toMatch(/^The broker refused the client certificate/);
  const broken = openLink({ url: broker.url, ca, cert: 'not a certificate', key });
  expect((await reached(broken, 'UNREACHABLE')).lastError).toMatch(/cannot be read/);
});

test('TLS on a port without TLS has its own error', async () => {
  const broker = await startMosquitto();
  const link = openLink({ url: `mqtts://127.0.0.1:${broker.port}` });
  expect((await reached(link, 'UNREACHABLE')).lastError).toMatch(/TLS|reset|closed/);
});

test('MQTT over WebSocket works', async () => {
  const broker = await startMosquitto({ webSocket: true });
  const link = await connectedLink({ url: broker.webSocketUrl });
  const heard = new Promise<string>((resolve) => {
    void link
      .subscribe('x', ({ payload }) => resolve(Buffer.from(payload).toString()))
      .then(() => link.publish('x', 'over ws'));
  });
  expect(await heard).toBe('over ws');
});

test('overlapping filters receive a message once each', async () => {
  const broker = await startMosquitto({ lines: ['allow_duplicate_messages true'] });
  const link = await connectedLink({ url: broker.url });
  const heard: string[] = [];
  const end = new Promise<void>((resolve) => {
    void (async () => {
      await link.subscribe('a/#', ({ topic }) => heard.push(`# ${topic}`));
      await link.subscribe('a/b', ({ topic }) => heard.push(`b ${topic}`));
      await link.subscribe('a/+', ({ topic }) => heard.push(`+ ${topic}`));
      await link.subscribe('end', () => resolve());
      await link.publish('a/b', '1');
      await link.publish('end', '');
    })();
  });
  await end;
  expect(heard.sort()).toEqual(['# a/b', '+ a/b', 'b a/b']);
});

test('a later listener of a shared filter receives the retained messages, and the earlier one does not again', async () => {
  const broker = await startMosquitto();
  const link = await connectedLink({ url: broker.url });
  await link.publish('r', 'kept', { retain: true, qos: 1 });
  const first: string[] = [];
  const second: string[] = [];
  await new Promise<void>((resolve) => {
    void link.subscribe('r', ({ payload }) => {
      first.push(Buffer.from(payload).toString());
      resolve();
    });
  });
  await new Promise<void>((resolve) => {
    void link.subscribe('r', ({ payload }) => {
      second.push(Buffer.from(payload).toString());
      resolve();
    });
  });
  expect(second).toEqual(['kept']);
  expect(first).toEqual(['kept']);
  const both = new Promise<void>((resolve) => {
    void link.subscribe('r', ({ payload }) => Buffer.from(payload).toString() === 'live' && resolve());
  });
  await link.publish('r', 'live');
  await both;
  expect(first).toEqual(['kept', 'live']);
  expect(second).toEqual(['kept', 'live']);
});

test('a filter is unsubscribed when its last listener stops', async () => {
  const broker = await startMosquitto();
  const link = await connectedLink({ url: broker.url });
  const heard: string[] = [];
  const stopOne = await link.subscribe('s', () => heard.push('one'));
  const stopTwo = await link.subscribe('s', () => heard.push('two'));
  stopOne();
  await link.publish('s', '', { qos: 1 });
  stopTwo();
  stopTwo();
  await link.publish('s', '', { qos: 1 });
  await new Promise<void>((resolve) => {
    void link.subscribe('end', () => resolve()).then(() => link.publish('end', ''));
  });
  expect(heard).toEqual(['two']);
});

test('a refused filter is NOT_ALLOWED, and invalid topics are never sent', async () => {
  const broker = await startMosquitto({ access: 'dynsec' });
  const link = await connectedLink({ url: broker.url, ...ADMIN });
  await expect(link.publish('ordinary/topic', '', { qos: 1 })).rejects.toMatchObject({ code: 'NOT_ALLOWED' });
  await expect(link.publish('a/+/b', '')).rejects.toMatchObject({ code: 'INVALID' });
  await expect(link.subscribe('a/#/b', () => undefined)).rejects.toMatchObject({ code: 'INVALID' });
  expect(link.status.state).toBe('CONNECTED');
});

test('messages of QoS 1 sent during a short interruption arrive afterwards', async () => {
  const broker = await startMosquitto();
  const link = await connectedLink({ url: broker.url, clientId: 'interrupted' });
  const heard: string[] = [];
  let all: () => void = () => undefined;
  await link.subscribe(
    'q',
    ({ payload }) => {
      heard.push(Buffer.from(payload).toString());
      if (heard.length === 20) all();
    },
    { qos: 1 },
  );
  const publisher = await broker.client();
  const arrived = new Promise<void>((resolve) => {
    all = resolve;
  });
  const back = reached(link, 'UNREACHABLE').then(() => reached(link, 'CONNECTED'));
  // The session is taken over without being ended, so the broker closes the link's connection and keeps its queue.
  const thief = await broker.client({
    clientId: 'interrupted',
    protocolVersion: 5,
    clean: false,
    properties: { sessionExpiryInterval: 60 },
  });
  thief.stream.destroy();
  for (let i = 0; i < 20; i++) await publisher.publishAsync('q', String(i), { qos: 1 });
  expect((await back).resumed).toBe(true);
  await arrived;
  expect(heard.map(Number)).toEqual([...Array(20).keys()]);
});

test('close waits for no response to pending publishes, and may be called twice', async () => {
  const broker = await startMosquitto();
  const link = await connectedLink({ url: broker.url });
  broker.suspend();
  const pending = Promise.allSettled(Array.from({ length: 50 }, () => link.publish('c', 'x', { qos: 2 })));
  await Promise.all([link.close(), link.close()]);
  await pending;
  expect(link.status.state).toBe('CLOSED');
  await expect(link.publish('c', '')).rejects.toMatchObject({ code: 'BROKER_UNREACHABLE' });
});

test('a URL of an unknown scheme is INVALID and not repeated', () => {
  const link = new BrokerLink({ id: 'x', url: 'ftp://user:secret@host/', timeoutMs: 1_000 });
  expect(() => link.open()).toThrow(
    expect.objectContaining({ code: 'INVALID', message: expect.not.stringContaining('secret') }),
  );
});

test('many publishes arrive in order', async () => {
  const broker = await startMosquitto();
  const link = await connectedLink({ url: broker.url });
  const heard: number[] = [];
  const all = new Promise<void>((resolve) => {
    void link
      .subscribe('m', ({ payload }) => {
        if (heard.push(Number(Buffer.from(payload))) === 500) resolve();
      })
      .then(() => Promise.all(Array.from({ length: 500 }, (_, i) => link.publish('m', String(i)))));
  });
  await all;
  expect(heard).toEqual([...Array(500).keys()]);
});

test('a broker that sends messages is alive, even if PINGRESP is late', async () => {
  const pings: number[] = [];
  const pinged = new EventEmitter();
  const server = createServer((socket) => {
    const packets = parser({ protocolVersion: 4 });
    let sending: NodeJS.Timeout | undefined;
    packets.on('packet', ({ cmd }) => {
      if (cmd === 'connect') {
        socket.write(generate({ cmd: 'connack', returnCode: 0, sessionPresent: false }));
        const message = { cmd: 'publish', topic: 't', payload: '', qos: 0, dup: false, retain: false } as const;
        sending = setInterval(() => socket.write(generate(message)), 20);
      } else if (cmd === 'pingreq') {
        pinged.emit('ping', pings.push(performance.now()));
        // mqtt.js would give up half a second after the first one.
        if (pings.length === 3) clearInterval(sending);
      }
    });
    socket.on('data', (data) => packets.parse(data));
    socket.on('error', () => undefined);
    socket.on('close', () => clearInterval(sending));
  }).listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const url = `mqtt://127.0.0.1:${port}`;
  const states: string[] = [];
  const link = openLink({ url, version: 4, keepaliveSeconds: 1, isBoundedByCaller: true });
  link.onStatus(({ state }) => states.push(state));
  for await (const [count] of on(pinged, 'ping')) if (count === 3) break;
  expect(states).toEqual(['CONNECTED']);
  expect(await reached(link, 'UNREACHABLE')).toMatchObject({
    lastError: expect.stringMatching(/stopped responding/),
    wasSilent: true,
  });
});

test.each([{ username: 'é'.repeat(40_000) }, { username: 'u', password: 'é'.repeat(40_000) }])(
  'a user name or password that is too long for MQTT is refused at once',
  (tooLong) => {
    const link = new BrokerLink({ id: 'brk_1', url: 'mqtt://127.0.0.1:1', timeoutMs: 1_000, ...tooLong });
    expect(() => link.open()).toThrow('must not exceed 65535 bytes');
  },
);

test('a client id that is too long for MQTT ends the attempt only', async () => {
  // The error of a socket that cannot connect has no other receiver.
  for (const url of [(await startMosquitto()).url, 'mqtt://127.0.0.1:1']) {
    const link = openLink({ url, clientId: 'é'.repeat(40_000) });
    await expect.poll(() => link.status.lastError).not.toBeNull();
  }
});
