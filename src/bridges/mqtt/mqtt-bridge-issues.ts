import { createPrivateKey, X509Certificate } from 'node:crypto';
import type { InputIssue } from '../../errors.ts';
import { filtersOverlap } from '../../mqtt/filter-match.ts';
import { filterProblem } from '../../mqtt/topics.ts';
import { AllowedHosts } from '../../network/allowed-hosts.ts';
import type { BridgeRules } from '../model/bridge-kind.ts';
import {
  type MqttBridgeConfig,
  type MqttConnectionConfig,
  sourceFilter,
  type TopicRule,
  targetFilter,
  type Way,
  waysOf,
} from './mqtt-bridge-config.ts';

const SCHEMES = ['mqtt:', 'mqtts:', 'ws:', 'wss:'];

/** Why a configuration that fits the schema cannot be run; paths are JSON pointers. */
export function mqttBridgeIssues({ connections }: MqttBridgeConfig, rules: BridgeRules): InputIssue[] {
  const issues: InputIssue[] = [];
  const names = new Set<string>();
  const clients = new Set<string>();
  for (const [index, connection] of connections.entries()) {
    const path = `/connections/${index}`;
    const { name, url, clientId } = connection;
    if (names.has(name)) issues.push({ path: `${path}/name`, reason: 'is the name of another connection' });
    names.add(name);
    const urlReason = urlProblem(url, rules);
    if (urlReason !== null) issues.push({ path: `${path}/url`, reason: urlReason });
    if (clientId !== undefined) {
      const client = JSON.stringify([url, clientId]);
      if (clients.has(client))
        issues.push({ path: `${path}/clientId`, reason: 'is that of another connection to the same broker' });
      clients.add(client);
    }
    issues.push(...certificateIssues(connection, path), ...topicIssues(connection.topics, `${path}/topics`));
  }
  return issues;
}

function urlProblem(text: string, { allowedHosts }: BridgeRules): string | null {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || !SCHEMES.includes(url.protocol)) return 'must be a URL with the scheme mqtt, mqtts, ws or wss';
  if (url.hostname === '') return 'must name a host';
  if (url.username !== '' || url.password !== '') return 'must not hold credentials; use username and password';
  return new AllowedHosts(allowedHosts).refusal(url.hostname);
}

function certificateIssues({ ca, cert, key }: MqttConnectionConfig, path: string): InputIssue[] {
  const issues: InputIssue[] = [];
  for (const [name, pem] of Object.entries({ ca, cert })) {
    if (pem !== undefined && !isReadable(() => new X509Certificate(pem)))
      issues.push({ path: `${path}/${name}`, reason: 'must be a certificate in PEM' });
  }
  if (key !== undefined && !isReadable(() => createPrivateKey(key)))
    issues.push({ path: `${path}/key`, reason: 'must be a private key in PEM, without a passphrase' });
  if ((cert === undefined) !== (key === undefined))
    issues.push({
      path: `${path}/${cert === undefined ? 'key' : 'cert'}`,
      reason: 'needs the other one of cert and key',
    });
  else if (cert !== undefined && key !== undefined && issues.length === 0) {
    if (!new X509Certificate(cert).checkPrivateKey(createPrivateKey(key)))
      issues.push({ path: `${path}/key`, reason: 'is not that of the client certificate' });
  }
  return issues;
}

function isReadable(read: () => unknown): boolean {
  try {
    read();
    return true;
  } catch {
    return false;
  }
}

function topicIssues(topics: readonly TopicRule[], path: string): InputIssue[] {
  const issues: InputIssue[] = [];
  const checked: { readonly passages: readonly Passage[]; readonly index: number }[] = [];
  for (const [index, rule] of topics.entries()) {
    const own = ruleIssues(rule, `${path}/${index}`);
    issues.push(...own);
    if (own.length > 0) continue;
    const passages = passagesOf(rule);
    const other = checked.find((before) => collide(passages, before.passages));
    if (other !== undefined)
      issues.push({
        path: `${path}/${index}/pattern`,
        reason: `matches topics that topics/${other.index} matches, too: they would be passed on twice`,
      });
    checked.push({ passages, index });
  }
  return issues;
}

function ruleIssues(rule: TopicRule, path: string): InputIssue[] {
  const { pattern, localPrefix = '', remotePrefix = '' } = rule;
  const issues: InputIssue[] = [];
  for (const [name, prefix] of Object.entries({ localPrefix, remotePrefix })) {
    if (/[+#\0]/.test(prefix)) issues.push({ path: `${path}/${name}`, reason: 'must not contain +, # or NUL' });
  }
  if (pattern === '' && (localPrefix === '' || remotePrefix === ''))
    issues.push({ path: `${path}/pattern`, reason: 'must not be empty, unless both prefixes are given' });
  if (issues.length > 0) return issues;
  const problem = filterProblem(localPrefix + pattern) ?? filterProblem(remotePrefix + pattern);
  if (problem !== null) return [{ path: `${path}/pattern`, reason: `with its prefixes: ${problem}` }];
  for (const way of waysOf(rule)) {
    const source = sourceFilter(rule, way);
    if (source.startsWith('$') && !(way === 'in' && source.startsWith('$SYS/')))
      issues.push({ path: `${path}/pattern`, reason: `topics that begin with $ are not passed ${way}` });
    else if (targetFilter(rule, way).startsWith('$'))
      issues.push({ path: `${path}/pattern`, reason: 'messages are not passed to topics that begin with $' });
  }
  return issues;
}

/** What a rule does one way: what it takes, and what that matches on the other side. */
interface Passage {
  readonly way: Way;
  readonly source: string;
  readonly target: string;
  /** Of the source. */
  readonly levels: readonly string[];
}

const passagesOf = (rule: TopicRule): Passage[] =>
  waysOf(rule).map((way) => {
    const source = sourceFilter(rule, way);
    return { way, source, target: targetFilter(rule, way), levels: source.split('/') };
  });

/** The same filter twice leads to two topics on the other side; filters that only overlap would make brokers send one message twice, or not. */
const collide = (passages: readonly Passage[], before: readonly Passage[]): boolean =>
  passages.some(({ way, source, target, levels }) =>
    before.some((other) => {
      if (other.way !== way) return false;
      return other.source === source ? other.target === target : filtersOverlap(levels, other.levels);
    }),
  );
