import { fieldOf, isFields, listIn } from './fields.ts';
import type { ControlCaller } from './plugin.ts';

/** An entry of `listPlugins`. */
export interface BrokerPlugin {
  readonly name: string;
  /** `null` if the broker reports none. */
  readonly version: string | null;
  /** Topics of the control APIs that the plugin serves. */
  readonly endpoints: readonly string[];
}

const MAX_PLUGINS = 200;
const MAX_TEXT = 255;

/** The plugins that have given Mosquitto their name. Errors: those of ControlCaller. */
export async function listPlugins(caller: ControlCaller): Promise<BrokerPlugin[]> {
  const data = await caller.call('broker', 'listPlugins');
  return listIn(data, 'plugins').slice(0, MAX_PLUGINS).flatMap(readPlugin);
}

function readPlugin(value: unknown): BrokerPlugin[] {
  const name = isFields(value) ? textIn(fieldOf(value, 'name')) : null;
  if (!isFields(value) || name === null) return [];
  const endpoints = listIn(value, 'control-endpoints').slice(0, MAX_PLUGINS).map(textIn);
  const version = textIn(fieldOf(value, 'version'));
  return [{ name, version, endpoints: endpoints.filter((endpoint) => endpoint !== null) }];
}

const textIn = (value: unknown): string | null =>
  typeof value === 'string' && value !== '' ? value.slice(0, MAX_TEXT) : null;

/** Plugins of Mosquitto that decide on no access. */
const UNDECIDING: ReadonlySet<string> = new Set(['dynamic-security', 'persist-sqlite', 'sparkplug-aware']);

/** Names of the plugins, other than dynamic security, that may decide on log-ins or topics. */
export const otherDecidingPlugins = (plugins: readonly BrokerPlugin[]): string[] =>
  plugins.map(({ name }) => name).filter((name) => !UNDECIDING.has(name));
