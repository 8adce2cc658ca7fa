import type { InputIssue } from '../../../platform/errors.ts';
import { controlCharacterIssues } from '../../../platform/text/texts.ts';
import { certificatesProblem, privateKeyProblem } from '../../../protocol/certificates/connection-pem.ts';
import { filterProblem } from '../../../protocol/mqtt/topics.ts';
import type { AllowedHosts } from '../../../protocol/network/allowed-hosts.ts';
import { type BridgeKind, type BridgeRules, hostsOf, hrefOf } from '../model/bridge-kind.ts';
import {
  type MqttBridgeConfig,
  type MqttConnectionConfig,
  sourceFilter,
  sourceProblem,
  type TopicRule,
  targetFilter,
  targetProblem,
  waysOf,
} from './mqtt-bridge-config.ts';
import { mqttBridgeSchema } from './mqtt-bridge-schema.ts';
import { ComparisonBudget, SourceTree, TooManyComparisons } from './source-tree.ts';

export const mqttBridgeKind: BridgeKind = {
  id: 'mqtt-bridge',
  api: 'cedalo/mqtt-bridge',
  name: 'MQTT bridge',
  schema: mqttBridgeSchema,
  empty: { connections: [] },
  check: (config, rules) => mqttBridgeIssues(config as MqttBridgeConfig, rules),
  addressOf: (connection) => hrefOf((connection as MqttConnectionConfig).url),
};

/**
 * Maximum number of compared levels for one configuration, about 100 ms. 33,000 topics without wildcards need 500,000.
 */
const MAX_COMPARISONS = 2_000_000;

const SCHEMES = ['mqtt:', 'mqtts:', 'ws:', 'wss:'];

function mqttBridgeIssues({ connections }: MqttBridgeConfig, rules: BridgeRules): InputIssue[] {
  const issues: InputIssue[] = [];
  const names = new Set<string>();
  const clients = new Set<string>();
  const budget = new ComparisonBudget(MAX_COMPARISONS);
  for (const [index, connection] of connections.entries()) {
    const path = `/connections/${index}`;
    const { name, url, clientId } = connection;
    if (names.has(name)) issues.push({ path: `${path}/name`, reason: 'is the name of another connection' });
    names.add(name);
    const urlReason = urlProblem(url, hostsOf(rules, connection));
    if (urlReason !== null) issues.push({ path: `${path}/url`, reason: urlReason });
    for (const field of ['username', 'password', 'clientId'] as const) {
      issues.push(...controlCharacterIssues(`${path}/${field}`, connection[field]));
    }
    if (clientId !== undefined) {
      const client = JSON.stringify([url, clientId]);
      if (clients.has(client))
        issues.push({ path: `${path}/clientId`, reason: 'is that of another connection to the same broker' });
      clients.add(client);
    }
    issues.push(...certificateIssues(connection, path));
    try {
      for (const issue of topicIssues(connection.topics, `${path}/topics`, budget)) issues.push(issue);
    } catch (error) {
      if (!(error instanceof TooManyComparisons)) throw error;
      const reason = 'has too many wildcards to be checked: use fewer or wider topics';
      return [...issues, { path: `${path}/topics`, reason }];
    }
  }
  return issues;
}

function urlProblem(text: string, hosts: AllowedHosts): string | null {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || !SCHEMES.includes(url.protocol)) return 'must be a URL with the scheme mqtt, mqtts, ws or wss';
  if (url.hostname === '') return 'must name a host';
  if (url.username !== '' || url.password !== '') return 'must not hold credentials; use username and password';
  return hosts.refusal(url.hostname);
}

function certificateIssues({ ca, cert, key }: MqttConnectionConfig, path: string): InputIssue[] {
  const issues: InputIssue[] = [];
  for (const [name, pem] of Object.entries({ ca, cert })) {
    const reason = pem === undefined ? null : certificatesProblem(pem);
    if (reason !== null) issues.push({ path: `${path}/${name}`, reason });
  }
  const keyReason = key === undefined ? null : privateKeyProblem(key, issues.length === 0 ? cert : null);
  if (keyReason !== null) issues.push({ path: `${path}/key`, reason: keyReason });
  if ((cert === undefined) !== (key === undefined))
    issues.push({
      path: `${path}/${key === undefined ? 'cert' : 'key'}`,
      reason: 'needs the other one of cert and key',
    });
  return issues;
}

function topicIssues(topics: readonly TopicRule[], path: string, budget: ComparisonBudget): InputIssue[] {
  const issues: InputIssue[] = [];
  const checked = { in: new SourceTree(budget), out: new SourceTree(budget) };
  for (const [index, rule] of topics.entries()) {
    const own = ruleIssues(rule, `${path}/${index}`);
    issues.push(...own);
    if (own.length > 0) continue;
    const passages = waysOf(rule).map((way) => ({
      tree: checked[way],
      // Two rules with equal filters may have different target topics. Filters that only overlap are refused: some
      // brokers send a message once for them, others twice.
      levels: sourceFilter(rule, way).split('/'),
      target: targetFilter(rule, way),
    }));
    for (const { tree, levels, target } of passages) {
      const other = tree.conflict(levels, target);
      if (other === null) continue;
      issues.push({
        path: `${path}/${index}/pattern`,
        reason: `matches topics that topics/${other} matches as well: messages would be passed on twice`,
      });
      break;
    }
    for (const { tree, levels, target } of passages) tree.add(levels, target, index);
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
    const target = targetProblem(targetFilter(rule, way));
    const reason = sourceProblem(sourceFilter(rule, way), way) ?? (target && `the topic of the other side ${target}`);
    if (reason !== null) issues.push({ path: `${path}/pattern`, reason });
  }
  return issues;
}
