import { invalid, ServiceError } from '../../../platform/errors.ts';
import { runInSlices } from '../../../platform/scheduling/sliced-task.ts';
import { isFields } from '../../../protocol/control/fields.ts';
import type { ControlCaller } from '../../../protocol/control/plugin.ts';
import type { BridgeApi } from '../model/bridge-kind.ts';
import { getBridgeConfig, getBridgeSchema, updateBridgeConfig } from './bridge-control.ts';
import { masked, secretsIn, unmasked } from './config-secrets.ts';
import { SecretPlace } from './secret-places.ts';
import { MASK, maskText } from './secret-text.ts';

/*
 * Configurations of bridges that a broker runs itself. It tells them whole, so what is secret in them is told apart here: by its schema,
 * and by names, since schemas of brokers seldom say it.
 */

export async function readForeignConfig(caller: ControlCaller, api: BridgeApi): Promise<unknown> {
  const [place, config] = await Promise.all([placeOf(caller, api), getBridgeConfig(caller, api)]);
  return masked(config, place);
}

/** Errors: INVALID where a masked secret cannot be kept; the broker checks the rest. */
export async function writeForeignConfig(caller: ControlCaller, api: BridgeApi, given: unknown): Promise<void> {
  const place = await placeOf(caller, api);
  // Otherwise a broker that does not tell what it has can be configured, too.
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
    // What it cannot tell of itself is judged by names.
    if (!(error instanceof ServiceError) || error.code === 'BROKER_UNREACHABLE') throw error;
  }
  return SecretPlace.whole(schema, { byName: true });
}

/** Shorter ones would be found in any text. */
const SHORTEST = 4;

/** A broker may repeat in its refusal what it was given. */
function withoutSecrets({ code, message, info }: ServiceError, secrets: readonly string[]): ServiceError {
  // The longest first: another one may be a part of it.
  const told = secrets.filter(({ length }) => length >= SHORTEST).sort((a, b) => b.length - a.length);
  const openText = (text: string) => maskText(told.reduce((rest, secret) => rest.replaceAll(secret, MASK), text));
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
