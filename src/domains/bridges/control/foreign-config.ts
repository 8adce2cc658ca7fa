import type { BridgeApi } from '../../../data-plane/bridges/model/bridge-kind.ts';
import { invalid, ServiceError } from '../../../platform/errors.ts';
import { runInSlices } from '../../../platform/scheduling/sliced-task.ts';
import { isFields } from '../../../protocol/control/fields.ts';
import type { ControlCaller } from '../../../protocol/control/plugin.ts';
import { getBridgeConfig, getBridgeSchema, updateBridgeConfig } from './bridge-control.ts';
import { masked, secretsIn, unmasked } from './config-secrets.ts';
import { SecretPlace } from './secret-places.ts';
import { MASK, maskText } from './secret-text.ts';

/*
 * Configurations of bridges that a broker runs itself. The broker returns them with their secrets, so this module finds
 * secrets by the schema and by names, since schemas of brokers seldom mark them.
 */

export async function readForeignConfig(caller: ControlCaller, api: BridgeApi): Promise<unknown> {
  const [place, config] = await Promise.all([placeOf(caller, api), getBridgeConfig(caller, api)]);
  return runInSlices(masked(config, place));
}

/** Errors: INVALID if a masked secret cannot be restored. The broker validates the rest. */
export async function writeForeignConfig(caller: ControlCaller, api: BridgeApi, given: unknown): Promise<void> {
  const place = await placeOf(caller, api);
  // Only if needed, so that a broker that does not return its configuration can be configured.
  const kept = JSON.stringify(given).includes(MASK) ? await getBridgeConfig(caller, api) : null;
  const { config, issues } = await runInSlices(unmasked(given, kept, place));
  if (issues.length > 0) throw invalid(issues);
  try {
    await updateBridgeConfig(caller, api, config);
  } catch (error) {
    throw error instanceof ServiceError ? withoutSecrets(error, secretsIn(config, place)) : error;
  }
}

async function placeOf(caller: ControlCaller, api: BridgeApi): Promise<SecretPlace> {
  let schema: unknown = null;
  try {
    schema = await getBridgeSchema(caller, api);
  } catch (error) {
    // Without a schema, names decide.
    if (!(error instanceof ServiceError) || error.code === 'BROKER_UNREACHABLE') throw error;
  }
  return SecretPlace.whole(schema, { byName: true });
}

/** Shorter secrets would match in any text. */
const SHORTEST = 4;

/** A refusal of the broker may repeat what was sent. */
function withoutSecrets({ code, message, info }: ServiceError, secrets: readonly string[]): ServiceError {
  // The longest first, because another secret may be a part of it.
  const known = secrets.filter(({ length }) => length >= SHORTEST).sort((a, b) => b.length - a.length);
  const openText = (text: string) => maskText(known.reduce((rest, secret) => rest.replaceAll(secret, MASK), text));
  const open = (value: unknown): unknown => {
    if (typeof value === 'string') return openText(value);
    if (Array.isArray(value)) return value.map(open);
    if (!isFields(value)) return value;
    return Object.fromEntries(Object.entries(value).map(([key, entry]) => [key, open(entry)]));
  };
  return new ServiceError(
    code,
    openText(message),
    info === undefined ? {} : { info: open(info) as Readonly<Record<string, unknown>> },
  );
}

const CONTROL = '$CONTROL/';

/**
 * Refuses a configuration of a broker's own bridge that contains topics of `$CONTROL/`: such a bridge can send commands
 * to the broker. The schema of the bridge is the broker's, so every text counts, also one that another text may
 * complete to `$CONTROL/`, such as a prefix. Errors: NOT_ALLOWED.
 */
export function refuseControlTopics(config: unknown): void {
  const path = pathOf(config, '');
  if (path === null) return;
  const message = `${path}: names topics of $CONTROL/, which requires the ADMIN role in the project`;
  throw new ServiceError('NOT_ALLOWED', message, { info: { path, requires: 'ADMIN' } });
}

function pathOf(value: unknown, path: string): string | null {
  if (typeof value === 'string') return reachesControl(value) ? path || '/' : null;
  if (Array.isArray(value)) return firstOf(value.entries(), path);
  if (!isFields(value)) return null;
  const key = Object.keys(value).find(reachesControl);
  return key === undefined ? firstOf(Object.entries(value), path) : `${path}/${key}`;
}

function firstOf(entries: Iterable<readonly [string | number, unknown]>, path: string): string | null {
  for (const [key, value] of entries) {
    const found = pathOf(value, `${path}/${key}`);
    if (found !== null) return found;
  }
  return null;
}

const reachesControl = (text: string): boolean =>
  text.includes('$CONTROL') || (text !== '' && CONTROL.startsWith(text));
