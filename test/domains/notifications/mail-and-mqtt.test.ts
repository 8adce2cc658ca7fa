import { once } from 'node:events';
import { SMTPServer, type SMTPServerOptions } from 'smtp-server';
import { expect, test } from 'vitest';
import { errorStatements } from '../../../src/protocol/problems/problem-statements.ts';
import { startMosquitto } from '../../support/mosquitto.ts';
import { startTestService } from '../../support/service.ts';
import { onTestFinished } from '../../support/shared.ts';
import { addBroker } from '../messages/message-world.ts';
import { closeProblem, createChannel, deliveriesOf, openProblem } from './notification-world.ts';

interface Mail {
  readonly from: string;
  readonly to: readonly string[];
  readonly text: string;
}

async function startMailServer(options: SMTPServerOptions = {}) {
  const mails: Mail[] = [];
  const server = new SMTPServer({
    disabledCommands: ['STARTTLS'],
    authOptional: true,
    onData: (stream, { envelope }, done) => {
      let text = '';
      stream.on('data', (chunk: Buffer) => {
        text += chunk;
      });
      stream.on('end', () => {
        const from = envelope.mailFrom === false ? '' : envelope.mailFrom.address;
        mails.push({ from, to: envelope.rcptTo.map(({ address }) => address), text });
        done(null);
      });
    },
    ...options,
  });
  server.on('error', () => undefined);
  const listener = server.listen(0, '127.0.0.1');
  await once(listener, 'listening');
  onTestFinished(() => new Promise((closed) => server.close(() => closed(undefined))));
  return { mails, url: `127.0.0.1:${(listener.address() as { port: number }).port}` };
}

test('e-mail arrives at an SMTP server, with its password, and a refused one is sent again', async () => {
  let refusals = 1;
  const passwords: (string | null | undefined)[] = [];
  const { mails, url } = await startMailServer({
    onAuth: ({ username, password }, _session, done) => {
      passwords.push(password);
      done(null, { user: username });
    },
    onRcptTo: (_address, _session, done) => {
      refusals -= 1;
      const busy = Object.assign(new Error('mailbox\0busy\u0007'), { responseCode: 450 });
      done(refusals >= 0 ? busy : null);
    },
  });
  const SMTP_URL = `smtp://mail:p%40ss@${url}/?tls=off`;
  const service = await startTestService({ env: { SMTP_URL, MAIL_FROM: 'alerts@example.com' } });
  const id = await createChannel(service, { target: { email: { to: ['a@example.com', 'b@example.com'] } } });
  await openProblem(service, 'line\r\nBcc: c@example.com', { fact: { statements: errorStatements('grün') } });
  // As a database stores it, and a terminal shows it.
  await expect
    .poll(async () => (await deliveriesOf(service, id))[0])
    .toMatchObject({ responseStatus: 450, response: '450 mailbox busy' });
  await expect.poll(() => mails.map(({ to }) => to)).toEqual([['b@example.com'], ['a@example.com']]);
  const [, mail] = mails;
  expect(mail).toMatchObject({ from: 'alerts@example.com', text: expect.stringMatching(/^To: a@.*, b@/m) });
  expect(mail?.text).toMatch(/^Subject: \[Brokergraph\] CRITICAL: A bridge is not connected/m);
  expect(mail?.text).not.toMatch(/^Bcc:/m);
  expect(mail?.text).toMatch(/gr=C3=BCn|grün/);
  await expect.poll(async () => (await deliveriesOf(service, id))[0]).toMatchObject({ state: 'DELIVERED' });
  expect((await deliveriesOf(service, id))[0]).toMatchObject({ responseStatus: 250, attempts: 2 });
  expect(mail?.text).toContain(`<${(await deliveriesOf(service, id))[0].id}@example.com>`);
  expect(new Set(passwords)).toEqual(new Set(['p@ss']));
});

test('an e-mail that all present recipients have is delivered, although one is removed who does not accept it', async () => {
  const { mails, url } = await startMailServer({
    onRcptTo: ({ address }, _session, done) =>
      done(address === 'b@example.com' ? Object.assign(new Error('busy'), { responseCode: 451 }) : null),
  });
  const service = await startTestService({ env: { SMTP_URL: `smtp://${url}`, MAIL_FROM: 'alerts@example.com' } });
  const id = await createChannel(service, { target: { email: { to: ['a@example.com', 'b@example.com'] } } });
  await openProblem(service, 'x');
  await expect.poll(async () => (await deliveriesOf(service, id))[0]).toMatchObject({ responseStatus: 451 });
  const input = { channelId: id, target: { email: { to: ['a@example.com'] } } };
  const update =
    'mutation ($input: UpdateNotificationChannelInput!) { updateNotificationChannel(input: $input) { __typename } }';
  await service.graphql(update, { input });
  await expect
    .poll(async () => (await deliveriesOf(service, id))[0])
    .toMatchObject({ state: 'DELIVERED', error: null });
  expect(mails.map(({ to }) => to)).toEqual([['a@example.com']]);
});

test('e-mail needs an SMTP server, and addresses that cannot change the header', async () => {
  const refusal = async (service: Awaited<ReturnType<typeof startTestService>>, to: readonly string[]) =>
    createChannel(service, { target: { email: { to } } }).then(
      () => null,
      (error: Error) => JSON.parse(error.message)[0].extensions.info.issues[0].path,
    );
  const without = await startTestService();
  expect(await refusal(without, ['a@example.com'])).toBe('input.target.email');
  const service = await startTestService({ env: { SMTP_URL: 'smtp://127.0.0.1:1' } });
  expect(await refusal(service, ['a@example.com'])).toBeNull();
  expect(await refusal(service, [])).toBe('input.target.email.to');
  for (const to of ['a', 'a@b, c@d', 'a <a@b>', 'a@b\r\nBcc: c@d', '"a"@b'])
    expect([to, await refusal(service, [to])]).toEqual([to, 'input.target.email.to.0']);
});

test('messages are published to a topic of a broker of the project', async () => {
  const mosquitto = await startMosquitto();
  const service = await startTestService();
  const brokerId = await addBroker(service, mosquitto.url);
  const subscriber = await mosquitto.client();
  await subscriber.subscribeAsync('alerts/#', { qos: 1 });
  // biome-ignore lint/suspicious/noExplicitAny: as published.
  const seen: any[] = [];
  subscriber.on('message', (topic, payload) => seen.push({ topic, ...JSON.parse(String(payload)) }));
  const rules = { kinds: ['BRIDGE_DOWN'] };
  const id = await createChannel(service, { rules, target: { mqtt: { brokerId, topic: 'alerts/plant' } } });
  await openProblem(service, 'a', { brokerId });
  await closeProblem(service, 'a', { brokerId });
  await expect.poll(() => seen.map(({ type }) => type)).toEqual(['problem.opened', 'problem.closed']);
  expect(seen[0]).toMatchObject({ topic: 'alerts/plant', data: { broker: { id: brokerId, name: 'm' } } });
  await expect.poll(() => deliveriesOf(service, id, 'DELIVERED')).toHaveLength(2);
  expect((await deliveriesOf(service, id)).map((one) => one.id)).toEqual(seen.map((one) => one.id).reverse());

  const refusal = (target: object) =>
    createChannel(service, { target: { mqtt: target } }).catch((error: Error) => error.message);
  expect(await refusal({ brokerId, topic: '$CONTROL/x/v1' })).toContain('input.target.mqtt.topic');
  expect(await refusal({ brokerId, topic: 'a/#' })).toContain('input.target.mqtt.topic');
  expect(await refusal({ brokerId: 'brk_other', topic: 'a' })).toContain('input.target.mqtt.brokerId');
});
