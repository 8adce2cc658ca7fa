import { ServiceError } from '../../../platform/errors.ts';
import { getLicenseInformation, LICENSE_API } from '../../../protocol/apis/license.ts';
import { isFields } from '../../../protocol/control/fields.ts';
import type { ControlCaller } from '../../../protocol/control/plugin.ts';
import { bridgeApi } from './bridge-control.ts';

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

const MAX_FOUND = 100;
const ENDPOINT = /^\$CONTROL\/cedalo\/([^/]+-bridge)(?:\/v\d+)?$/;

/**
 * The ids of bridges that a broker may have itself, by its plugins and its license. A plain Mosquitto reports none, and
 * the known ids are not queried, because it does not respond to each query for a second. A licensed broker that reports
 * none is queried. Errors: BROKER_UNREACHABLE.
 */
export async function findBridgeIds(caller: ControlCaller): Promise<readonly string[]> {
  const [plugins, features] = await Promise.all([pluginBridges(caller), featureBridges(caller)]);
  const reported = [...new Set([...plugins, ...(features ?? [])])];
  if (reported.length > 0) return reported.filter((id) => bridgeApi(id) !== null).slice(0, MAX_FOUND);
  if (features === null) return [];
  const answering = await Promise.all(KNOWN_IDS.map((id) => servesBridge(caller, id)));
  return KNOWN_IDS.filter((_id, index) => answering[index]);
}

export async function servesBridge(caller: ControlCaller, id: string): Promise<boolean> {
  const api = bridgeApi(id);
  return api !== null && (await caller.capability(api)).provider === 'BROKER';
}

async function pluginBridges(caller: ControlCaller): Promise<string[]> {
  if ((await caller.capability('broker')).provider !== 'BROKER') return [];
  const data = await resultOf(() => caller.call('broker', 'listPlugins'));
  const plugins: readonly unknown[] = isFields(data) && Array.isArray(data.plugins) ? data.plugins : [];
  return plugins.flatMap((plugin) => {
    const endpoints = isFields(plugin) ? plugin['control-endpoints'] : null;
    if (!Array.isArray(endpoints)) return [];
    return endpoints.flatMap((endpoint: unknown) => ENDPOINT.exec(String(endpoint).slice(0, 200))?.[1] ?? []);
  });
}

async function featureBridges(caller: ControlCaller): Promise<string[] | null> {
  if ((await caller.capability(LICENSE_API)).provider !== 'BROKER') return null;
  const license = await resultOf(() => getLicenseInformation(caller));
  return license?.features.flatMap((feature) => idOfFeature(feature) ?? []) ?? [];
}

/** Accepts `mongodb-bridge`, `cedalo/mongodb-bridge`, `MongoDB Bridge` and `mongodb`. */
function idOfFeature(feature: string): string | null {
  const plain = feature
    .slice(0, 100)
    .toLowerCase()
    .replace(/^cedalo[/_-]/, '')
    .replace(/[\s_]+/g, '-');
  if (KNOWN.some((name) => name === plain)) return `${plain}-bridge`;
  // Mosquitto's own bridges are not a plugin, whatever its license lists.
  return plain.endsWith('-bridge') && plain !== 'mqtt-bridge' ? plain : null;
}

async function resultOf<T>(question: () => Promise<T>): Promise<T | null> {
  try {
    return await question();
  } catch (error) {
    if (error instanceof ServiceError && error.code !== 'BROKER_UNREACHABLE') return null;
    throw error;
  }
}
