/** Parsers of the texts of settings. Each throws BadValue for an invalid text. */
import { isAbsolute } from 'node:path';
import { isHostEntry } from '../network/addresses.ts';

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

export const hosts: Parse<readonly string[]> = (value) => {
  const all = list(value);
  if (!all.every(isHostEntry)) throw new BadValue('comma-separated names, addresses and networks such as 10.0.0.0/8');
  return all;
};

export const hostNames: Parse<readonly string[]> = (value) => {
  const all = list(value);
  if (!all.every((name) => name === '*' || /^(\*\.)?[\w-]+(\.[\w-]+)*$/.test(name)))
    throw new BadValue('comma-separated names such as brokers.example.com or *.example.com, without ports');
  return all;
};

export interface ListenAddress {
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

export const origins: Parse<readonly string[]> = (value) => {
  const all = list(value);
  if (!all.every((origin) => URL.canParse(origin) && new URL(origin).origin === origin))
    throw new BadValue('origins such as https://app.example.com, without a path or trailing slash');
  return all;
};

/** An http or https URL without credentials, query and fragment. Returned unchanged. */
export const webAddress: Parse<string> = (value) => {
  const url = URL.canParse(value) ? new URL(value) : null;
  const isPlain = url !== null && url.search === '' && url.hash === '' && url.username === '' && url.password === '';
  if (!isPlain || !/^https?:$/.test(url.protocol)) throw new BadValue('a URL such as https://brokers.example.com');
  return value;
};

const LOOPBACK = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/;

/** Requires https, because an attacker who changes the provider's responses could sign in as any user. */
export const issuer: Parse<string> = (value) => {
  const { protocol, hostname } = new URL(webAddress(value));
  if (protocol !== 'https:' && !LOOPBACK.test(hostname)) throw new BadValue('an https URL, except for this machine');
  return value;
};

export const webAddresses: Parse<readonly string[]> = (value) => list(value).map((address) => webAddress(address));

export const ldapUrl: Parse<string> = (value) => {
  const url = URL.canParse(value) ? new URL(value) : null;
  if (url === null || !/^ldaps?:$/.test(url.protocol) || url.hostname === '' || !/^\/?$/.test(url.pathname)) {
    throw new BadValue('a URL such as ldaps://directory.example.com with an optional port and no path');
  }
  return value;
};

export const ldapFilter =
  (placeholder: string): Parse<string> =>
  (value) => {
    if (!/^\(.*\)$/s.test(value) || !value.includes(placeholder))
      throw new BadValue(`a filter in parentheses that contains ${placeholder}`);
    return value;
  };

export const databaseUrl: Parse<string> = (value) => {
  if (!/^postgres(ql)?:\/\//.test(value)) throw new BadValue('a URL that begins with postgresql://');
  return value;
};

export const email: Parse<string> = (value) => {
  if (!/^[^\s@]+@[^\s@]+$/.test(value)) throw new BadValue('an e-mail address');
  return value;
};

export const atLeast =
  (length: number): Parse<string> =>
  (value) => {
    if (value.length < length) throw new BadValue(`at least ${length} characters long`);
    return value;
  };

export const absolutePath: Parse<string> = (value) => {
  if (!isAbsolute(value)) throw new BadValue('an absolute path');
  return value;
};

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
