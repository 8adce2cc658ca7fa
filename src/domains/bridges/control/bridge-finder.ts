import { ServiceError } from '../../../platform/errors.ts';
import { isFields } from '../../../protocol/control/fields.ts';
import type { ControlCaller } from '../../../protocol/control/plugin.ts';
import { getLicenseInformation, LICENSE_API } from '../../brokers/license-control.ts';
import { bridgeApi } from './bridge-control.ts';

/** Bridges that commercial brokers are known to have. */
const KNOWN = [
  'azure-eventhubs',
  'influxdb',
  'mongodb',
  'kafka',
  'google-pubsub',
  'sql',
  'databricks',
  'postgresql',
] as const;
const KNOWN_IDS = KNOWN.map((name) => `${name}-bridge`);

/** More than any broker has. */
const MAX_FOUND = 100;
const ENDPOINT = /^\$CONTROL\/cedalo\/([^/]+-bridge)(?:\/v\d+)?$/;

/**
 * The ids of bridges that a broker may have itself, by what it tells of its plugins and its licence. A plain Mosquitto tells of none and
 * is not asked for each that there may be: it would be silent for a second to each question. A licensed broker that tells of none is.
 * Errors: BROKER_UNREACHABLE.
 */
export async function findBridgeIds(caller: ControlCaller): Promise<readonly string[]> {
  const [plugins, features] = await Promise.all([pluginBridges(caller), featureBridges(caller)]);
  const told = [...new Set([...plugins, ...(features ?? [])])];
  if (told.length > 0) return told.filter((id) => bridgeApi(id) !== null).slice(0, MAX_FOUND);
  if (features === null) return [];
  const answering = await Promise.all(KNOWN_IDS.map((id) => servesBridge(caller, id)));
  return KNOWN_IDS.filter((_id, index) => answering[index]);
}

/** The broker itself answers for it. Errors: BROKER_UNREACHABLE. */
export async function servesBridge(caller: ControlCaller, id: string): Promise<boolean> {
  const api = bridgeApi(id);
  return api !== null && (await caller.capability(api)).provider === 'BROKER';
}

async function pluginBridges(caller: ControlCaller): Promise<string[]> {
  if ((await caller.capability('broker')).provider !== 'BROKER') return [];
  const data = await answerOf(() => caller.call('broker', 'listPlugins'));
  const plugins: readonly unknown[] = isFields(data) && Array.isArray(data.plugins) ? data.plugins : [];
  return plugins.flatMap((plugin) => {
    const endpoints = isFields(plugin) ? plugin['control-endpoints'] : null;
    if (!Array.isArray(endpoints)) return [];
    return endpoints.flatMap((endpoint: unknown) => ENDPOINT.exec(String(endpoint).slice(0, 200))?.[1] ?? []);
  });
}

/** Null: the broker has no licence. */
async function featureBridges(caller: ControlCaller): Promise<string[] | null> {
  if ((await caller.capability(LICENSE_API)).provider !== 'BROKER') return null;
  const license = await answerOf(() => getLicenseInformation(caller));
  return license?.features.flatMap((feature) => idOfFeature(feature) ?? []) ?? [];
}

/** `mongodb-bridge`, `cedalo/mongodb-bridge`, `MongoDB Bridge`, `mongodb`. */
function idOfFeature(feature: string): string | null {
  const plain = feature
    .slice(0, 100)
    .toLowerCase()
    .replace(/^cedalo[/_-]/, '')
    .replace(/[\s_]+/g, '-');
  if (KNOWN.some((name) => name === plain)) return `${plain}-bridge`;
  // A Mosquitto's own bridges are no plugin, whatever its licence calls them.
  return plain.endsWith('-bridge') && plain !== 'mqtt-bridge' ? plain : null;
}

/** What the broker refuses to tell is not told. */
async function answerOf<T>(question: () => Promise<T>): Promise<T | null> {
  try {
    return await question();
  } catch (error) {
    if (error instanceof ServiceError && error.code !== 'BROKER_UNREACHABLE') return null;
    throw error;
  }
}
