import { BlockList, isIP } from 'node:net';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { addressKey, addressRangeOf } from '../../../src/platform/network/address-range.ts';

const family = (address: string) => (isIP(address) === 6 ? 'ipv6' : 'ipv4');
const near = fc.oneof(
  fc.ipV4(),
  fc.ipV6(),
  fc.constantFrom('10.0.0.1', '10.0.0.9', '10.0.0.10', '10.0.1.0', '::', '::1', '2001:db8::7', '2001:db8:0:1::'),
);

test('a range contains the addresses that a block list of the network contains', () => {
  fc.assert(
    fc.property(near, near, fc.nat(128), (network, address, size) => {
      const bits = family(network) === 'ipv4' ? Math.min(size, 32) : size;
      const list = new BlockList();
      list.addSubnet(network, bits, family(network));
      const range = addressRangeOf(`${network}/${bits}`);
      const key = addressKey(address) ?? '';
      if (range === null) throw new Error(network);
      const contains = key.length === range.first.length && key >= range.first && key <= range.last;
      expect([network, bits, address, contains]).toEqual([
        ...[network, bits, address, family(network) === family(address) && list.check(address, family(address))],
      ]);
    }),
  );
});

test('keys sort like the addresses, and other texts have none', () => {
  const addresses = ['9.0.0.1', '10.0.0.2', '10.0.0.10', '::1', '2001:db8::1', '2001:db8::1:0'];
  expect([...addresses].sort((a, b) => ((addressKey(a) ?? '') < (addressKey(b) ?? '') ? -1 : 1))).toEqual(addresses);
  expect(addressKey('::ffff:1.2.3.4')).toBe(addressKey('::FFFF:102:304'));
  expect(addressKey('fe80::1%eth0')).toBe(addressKey('fe80::1'));
  for (const text of ['', '1.2.3', '1.2.3.256', '1.2.3.4.5', ':', '::g', 'localhost', '1.2.3.4/8']) {
    expect([text, addressKey(text)]).toEqual([text, null]);
  }
  for (const text of ['10.0.0.0/33', '::/129', '10.0.0/8', '/8', 'x']) {
    expect([text, addressRangeOf(text)]).toEqual([text, null]);
  }
});
