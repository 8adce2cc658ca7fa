import { readFile, realpath } from 'node:fs/promises';
import { isAbsolute, relative, resolve } from 'node:path';
import { type InputIssue, invalid, ServiceError } from '../../platform/errors.ts';
import { controlCharacterIssues, textIssues } from '../../platform/text/texts.ts';
import type { Nullish } from '../../platform/without-nulls.ts';
import { certificatesProblem, privateKeyProblem } from '../../protocol/certificates/connection-pem.ts';
import { portOrPathProblem } from '../../protocol/mqtt/connect-options.ts';
import { lengthProblem } from '../../protocol/mqtt/topics.ts';
import { AllowedHosts, type InsideRule } from '../../protocol/network/allowed-hosts.ts';
import type { LeadsToOwnBroker } from './own-listeners.ts';

export interface ConnectionRules {
  /** Folder of the files that `*File` settings may name; `undefined`: none are allowed. */
  readonly filesDir: string | undefined;
  readonly allowedHosts: readonly string[];
  readonly inside?: InsideRule;
  /** URLs that need no other permission. Default: none. */
  readonly isOwnBroker?: LeadsToOwnBroker;
}

/** Maximum lengths. User names and passwords: the maximum of MQTT. PEM: about fifty certificates. */
const LONGEST = {
  url: 2_048,
  username: 65_535,
  password: 65_535,
  caCert: 100_000,
  caCertFile: 4_096,
  clientCert: 100_000,
  clientCertFile: 4_096,
  clientKey: 100_000,
  clientKeyFile: 4_096,
};

export const CONNECTION_KEYS = Object.keys(LONGEST) as readonly (keyof typeof LONGEST)[];

/** Connection settings as entered by a user. `null` clears a setting; an absent one does not change. */
export type BrokerConnectionInput = Nullish<Record<keyof typeof LONGEST, string>>;

const SCHEMES = ['mqtt:', 'mqtts:', 'ws:', 'wss:'];

export async function checkConnection(input: BrokerConnectionInput, rules: ConnectionRules): Promise<void> {
  const issues: InputIssue[] = [];
  const check = (path: string, reason: string | null) => {
    if (reason !== null) issues.push({ path: `input.${path}`, reason });
  };
  for (const name of CONNECTION_KEYS) {
    issues.push(...textIssues(`input.${name}`, input[name], { min: 1, max: LONGEST[name] }));
  }
  for (const name of ['username', 'password'] as const) {
    const text = input[name];
    issues.push(...controlCharacterIssues(`input.${name}`, text));
    if (text && issues.length === 0) check(name, lengthProblem(text));
  }
  if (input.url) check('url', urlProblem(input.url, rules));
  for (const name of ['caCert', 'clientCert'] as const) {
    check(name, input[name] ? certificatesProblem(input[name]) : null);
  }
  if (input.clientKey) {
    check('clientKey', privateKeyProblem(input.clientKey, issues.length === 0 ? input.clientCert : null));
  }
  for (const name of ['caCertFile', 'clientCertFile', 'clientKeyFile'] as const) {
    const file = input[name];
    if (file) check(name, await fileProblem(file, rules.filesDir));
  }
  if (issues.length > 0) throw invalid(issues);
}

export async function readConnectionFile(file: string, filesDir: string | undefined): Promise<string> {
  const problem = await fileProblem(file, filesDir);
  if (problem !== null) throw new ServiceError('INVALID', `The file "${file}" ${problem}`);
  return readFile(resolve(filesDir ?? '', file), 'utf8');
}

function urlProblem(url: string, { allowedHosts, inside }: ConnectionRules): string | null {
  let parsed: URL;
  try {
    parsed = new URL(url);
  } catch {
    return 'must be a URL such as mqtt://host:1883';
  }
  if (!SCHEMES.includes(parsed.protocol)) return `must begin with ${SCHEMES.map((scheme) => `${scheme}//`).join(', ')}`;
  if (parsed.hostname === '') return 'must contain a host';
  if (parsed.username !== '' || parsed.password !== '') {
    return 'must not contain credentials; use username and password';
  }
  return new AllowedHosts(allowedHosts, inside).refusal(parsed.hostname) ?? portOrPathProblem(parsed);
}

/** Resolves symbolic links before the comparison, so neither `..` nor a link leads out of the folder. */
async function fileProblem(file: string, filesDir: string | undefined): Promise<string | null> {
  if (filesDir === undefined) return 'is not allowed: the operator has not set BROKER_FILES_DIR';
  try {
    const folder = await realpath(filesDir);
    const inside = relative(folder, await realpath(resolve(folder, file)));
    if (inside !== '' && !inside.startsWith('..') && !isAbsolute(inside)) return null;
  } catch {
    // The error must not reveal whether a file outside the folder exists.
  }
  return 'must be a readable file below the configured folder';
}
