/** Parsers of the texts of settings. Each throws BadValue for an invalid text. */
import { isIP } from 'node:net';
import { isAbsolute } from 'node:path';
import { isHostEntry, unbracketed } from '../network/addresses.ts';

export type Parse<T> = (text: string) => T;

/** An invalid value. The message completes "PORT must be …". */
export class BadValue extends Error {}

export const integer =
  (lowest: number, highest: number): Parse<number> =>
  (text) => {
    const value = Number(text);
    if (!/^\d+$/.test(text) || value < lowest || value > highest)
      throw new BadValue(`a whole number from ${lowest} to ${highest}`);
    return value;
  };

export const flag: Parse<boolean> = (text) => {
  if (/^(on|true|yes|1)$/i.test(text)) return true;
  if (/^(off|false|no|0)$/i.test(text)) return false;
  throw new BadValue('on or off');
};

export const oneOf =
  <const T extends string>(...choices: T[]): Parse<T> =>
  (text) => {
    const choice = choices.find((known) => known === text.toLowerCase());
    if (choice === undefined) throw new BadValue(`one of ${choices.join(', ')}`);
    return choice;
  };

export const text: Parse<string> = (value) => value;

export const optional =
  <T>(parse: Parse<T>): Parse<T | undefined> =>
  (value) =>
    value === '' ? undefined : parse(value);

const list: Parse<readonly string[]> = (value) =>
  value
    .split(',')
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '');

/** A text that meets a condition. It is returned unchanged. */
const valid =
  (isValid: (text: string) => boolean, description: string): Parse<string> =>
  (value) => {
    if (!isValid(value)) throw new BadValue(description);
    return value;
  };

const validList =
  (isValid: (text: string) => boolean, description: string): Parse<readonly string[]> =>
  (value) =>
    list(value).map(valid(isValid, description));

export const hosts = validList(isHostEntry, 'comma-separated names, addresses and networks such as 10.0.0.0/8');

/** A name or an address, without a port. IPv6 addresses may have brackets, which are removed. */
export const hostName: Parse<string> = (value) => {
  const host = unbracketed(value);
  if (isIP(host) === 0 && !/^[\w-]+(\.[\w-]+)*$/.test(host)) {
    throw new BadValue('a name or an address without a port, such as mqtt.example.com');
  }
  return host;
};

export const hostNames = validList(
  (name) => name === '*' || /^(\*\.)?[\w-]+(\.[\w-]+)*$/.test(name),
  'comma-separated names such as brokers.example.com or *.example.com, without ports',
);

interface ListenAddress {
  readonly host: string;
  readonly port: number;
}

/** An address to listen on: `127.0.0.1:9100`, `[::1]:9100`, `metrics.internal:9100`. */
export const listenAddress: Parse<ListenAddress> = (value) => {
  const [, bracketed, plain, digits = ''] = /^(?:\[([\da-f:.]+)\]|([\w.-]+)):(\d{1,5})$/i.exec(value) ?? [];
  const host = bracketed ?? plain;
  if (host === undefined || Number(digits) > 65_535)
    throw new BadValue('an address with a port, such as 127.0.0.1:9100');
  return { host, port: Number(digits) };
};

const urlOf = (text: string): URL | null => (URL.canParse(text) ? new URL(text) : null);

export const origins = validList(
  (origin) => urlOf(origin)?.origin === origin,
  'origins such as https://app.example.com, without a path or trailing slash',
);

/** An http or https URL without credentials, query and fragment. */
export const webAddress = valid((text) => {
  const url = urlOf(text);
  const isPlain = url?.search === '' && url.hash === '' && url.username === '' && url.password === '';
  return isPlain && /^https?:$/.test(url.protocol);
}, 'a URL such as https://brokers.example.com');

const LOOPBACK = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/;

/** Requires https, because an attacker who changes the provider's responses could sign in as any user. */
export const issuer: Parse<string> = (value) => {
  const { protocol, hostname } = new URL(webAddress(value));
  if (protocol !== 'https:' && !LOOPBACK.test(hostname)) throw new BadValue('an https URL, except for this machine');
  return value;
};

export const webAddresses: Parse<readonly string[]> = (value) => list(value).map(webAddress);

export const ldapUrl = valid((text) => {
  const url = urlOf(text);
  return url !== null && /^ldaps?:$/.test(url.protocol) && url.hostname !== '' && /^\/?$/.test(url.pathname);
}, 'a URL such as ldaps://directory.example.com with an optional port and no path');

export const ldapFilter = (placeholder: string): Parse<string> =>
  valid(
    (text) => /^\(.*\)$/s.test(text) && text.includes(placeholder),
    `a filter in parentheses that contains ${placeholder}`,
  );

export const smtpUrl = valid((text) => {
  const url = urlOf(text);
  return url !== null && /^smtps?:$/.test(url.protocol) && url.hostname !== '' && /^\/?$/.test(url.pathname);
}, 'a URL such as smtp://user:password@mail.example.com:587');

export const databaseUrl = valid((text) => /^postgres(ql)?:\/\//.test(text), 'a URL that begins with postgresql://');

export const email = valid((text) => /^[^\s@]+@[^\s@]+$/.test(text), 'an e-mail address');

export const atLeast = (length: number): Parse<string> =>
  valid((text) => text.length >= length, `at least ${length} characters long`);

export const absolutePath = valid(isAbsolute, 'an absolute path');

export const scopes = valid(
  (text) => text.split(' ').includes('openid'),
  'scopes separated by spaces, including openid',
);

export const port = integer(0, 65_535);

export const orOff =
  (parse: Parse<number>): Parse<number | null> =>
  (value) => {
    if (value.toLowerCase() === 'off') return null;
    try {
      return parse(value);
    } catch (error) {
      throw error instanceof BadValue ? new BadValue(`off or ${error.message}`) : error;
    }
  };
