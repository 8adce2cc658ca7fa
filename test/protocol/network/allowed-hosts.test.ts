import type { LookupAddress } from 'node:dns';
import { syncBuiltinESMExports } from 'node:module';
import os from 'node:os';
import { expect, onTestFinished, test, vi } from 'vitest';
import { isOutside } from '../../../src/platform/network/addresses.ts';
import { AllowedHosts, type InsideRule, isLocalHost } from '../../../src/protocol/network/allowed-hosts.ts';

test.each([
  ['127.0.0.1', 'INSIDE'],
  ['127.255.1.2', 'INSIDE'],
  ['0.0.0.0', 'INSIDE'],
  ['0.1.2.3', 'INSIDE'],
  ['::', 'INSIDE'],
  ['::1', 'INSIDE'],
  ['0:0:0:0:0:0:0:1', 'INSIDE'],
  ['::127.0.0.1', 'INSIDE'],
  ['::7f00:1', 'INSIDE'],
  ['::ffff:127.0.0.1', 'INSIDE'],
  ['::FFFF:7F00:1', 'INSIDE'],
  ['0:0:0:0:0:ffff:7f00:1', 'INSIDE'],
  ['::ffff:0:127.0.0.1', 'INSIDE'],
  ['64:ff9b::127.0.0.1', 'INSIDE'],
  ['64:ff9b::7f00:1', 'INSIDE'],
  ['64:ff9b:1::7f00:1', 'INSIDE'],
  ['2002:7f00:1::', 'INSIDE'],
  ['2002:7f00:0001:1:2:3:4:5', 'INSIDE'],
  ['169.254.169.254', 'INSIDE'],
  ['::ffff:169.254.169.254', 'INSIDE'],
  ['64:ff9b::a9fe:a9fe', 'INSIDE'],
  ['2002:a9fe:a9fe::1', 'INSIDE'],
  ['::169.254.169.254', 'INSIDE'],
  ['fe80::1', 'INSIDE'],
  ['fe80::1%eth0', 'INSIDE'],
  ['febf::1', 'INSIDE'],
  ['fd00:ec2::254', 'INSIDE'],
  ['100.100.100.200', 'INSIDE'],
  ['2001:0:7f00:1::', 'INSIDE'],
  ['10.0.0.1', 'OUTSIDE'],
  ['192.168.1.1', 'OUTSIDE'],
  ['8.8.8.8', 'OUTSIDE'],
  ['::ffff:10.0.0.1', 'OUTSIDE'],
  ['64:ff9b::8.8.8.8', 'OUTSIDE'],
  ['2002:808:808::1', 'OUTSIDE'],
  ['fec0::1', 'OUTSIDE'],
  ['2606:4700::1111', 'OUTSIDE'],
  ['fd00::1', 'OUTSIDE'],
])('%s is %s', (address, place) => {
  expect(isOutside(address)).toBe(place === 'OUTSIDE');
});

const INSIDE_SPELLINGS = [
  '127.0.0.1',
  '127.1',
  '2130706433',
  '0x7f000001',
  '0177.0.0.1',
  '[::1]',
  '[::ffff:7f00:1]',
  '[::7f00:1]',
  '[64:ff9b::7f00:1]',
  '[2002:7f00:1::]',
  '0.0.0.0',
  '0',
  'localhost',
  'LocalHost',
  'localhost.',
  'a.localhost',
];

test.each(INSIDE_SPELLINGS)('%s is refused as this machine, unless it is allowed', (host) => {
  const refusal = (list: readonly string[], inside: InsideRule) => new AllowedHosts(list, inside).refusal(host);
  expect(refusal([], 'NONE')).toContain('BROKER_ALLOWED_HOSTS');
  expect(refusal(['*'], 'NONE')).toContain('BROKER_ALLOWED_HOSTS');
  expect(refusal([], 'ALL')).toBeNull();
  const named = ['*', '127.0.0.0/8', '0.0.0.0/8', '::/64', '64:ff9b::/96', '2002::/16', 'localhost', 'localhost.'];
  expect(refusal([...named, 'a.localhost'], 'NONE')).toBeNull();
  expect(refusal(['broker.example'], 'ALL')).toContain('BROKER_ALLOWED_HOSTS');
});

test('metadata services and the network link are refused, unless they are allowed', () => {
  const hosts = new AllowedHosts([], 'NONE');
  for (const host of ['169.254.169.254', '2852039166', '[fe80::1]', '[fd00:ec2::254]', '[64:ff9b::a9fe:a9fe]']) {
    expect(hosts.refusal(host)).toContain('metadata');
    expect(new AllowedHosts([], 'ALL').refusal(host)).toBeNull();
  }
  for (const host of ['10.0.0.1', 'broker.example', '[2606:4700::1]']) expect(hosts.refusal(host)).toBeNull();
});

const found = (hosts: AllowedHosts, name: string): Promise<string> =>
  new Promise((resolve) => {
    const { lookup } = hosts;
    if (lookup === undefined) return resolve('whatever the system finds');
    lookup(name, { all: true }, (error, addresses) =>
      resolve(error ? error.message : (addresses as LookupAddress[]).map(({ address }) => address).join()),
    );
  });

test('the addresses of a name are checked at each connection', async () => {
  // To the system's resolver these are 127.0.0.1, whatever they say.
  expect(await found(new AllowedHosts([], 'NONE'), '127.1')).toContain('BROKER_ALLOWED_HOSTS');
  expect(await found(new AllowedHosts([], 'NONE'), 'localhost')).toContain('BROKER_ALLOWED_HOSTS');
  expect(await found(new AllowedHosts(['*', 'localhost'], 'NONE'), 'localhost')).toMatch(/^(127\.0\.0\.1|::1)/);
  expect(await found(new AllowedHosts(['*', '127.0.0.1'], 'NONE'), '127.1')).toBe('127.0.0.1');
  expect(await found(new AllowedHosts(['127.1'], 'ALL'), '127.1')).toContain('resolves to an address');
  expect(await found(new AllowedHosts([], 'ALL'), 'localhost')).toBe('whatever the system finds');
});

test('a host that is only reachable from its own machine is recognized', () => {
  for (const host of ['127.0.0.1', '::1', '[::1]', 'localhost', '127.0.0.2']) expect(isLocalHost(host)).toBe(true);
  for (const host of ['0.0.0.0', '::', '10.0.0.1', 'example.com', '']) expect(isLocalHost(host)).toBe(false);
});

test('the addresses of the interfaces of this machine are read again after a minute', () => {
  const { networkInterfaces } = os;
  const setInterfaces = (read: typeof networkInterfaces) => {
    os.networkInterfaces = read;
    syncBuiltinESMExports();
  };
  vi.useFakeTimers({ toFake: ['performance'] });
  onTestFinished(() => {
    vi.useRealTimers();
    setInterfaces(networkInterfaces);
  });
  vi.advanceTimersByTime(3_600_000);
  const added = '8.8.4.4';
  expect(isOutside(added)).toBe(true);
  const eth9 = { address: added, netmask: '255.0.0.0', mac: '', internal: false, cidr: null } as const;
  setInterfaces(() => ({ ...networkInterfaces(), eth9: [{ ...eth9, family: 'IPv4' }] }));
  vi.advanceTimersByTime(59_999);
  expect(isOutside(added)).toBe(true);
  vi.advanceTimersByTime(1);
  expect(isOutside(added)).toBe(false);
  setInterfaces(networkInterfaces);
  vi.advanceTimersByTime(60_000);
  expect(isOutside(added)).toBe(true);
});
