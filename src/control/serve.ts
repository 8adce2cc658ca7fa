import type { ControlCommand, ControlResponse } from './envelope.ts';
import { type ControlPlugin, ControlRefusal } from './plugin.ts';

/**
 * Runs one request payload on a plugin and builds the response payload, as Mosquitto's plugins do: commands run in order, one
 * answer each, in one message. A refused command does not stop the next ones; an entry that is no command ends the batch, and
 * what was answered before is still sent. Never throws.
 *
 * Errors (texts are Mosquitto's): `Payload not valid JSON`, `Invalid/missing commands`, `Command not an object`,
 * `Missing command`, `Invalid correlationData data type.`, what the plugin refused with, and `Internal error` for a bug in it
 * (told to `onBug`).
 */
export async function serveControlRequest(
  payload: Uint8Array,
  plugin: ControlPlugin,
  onBug: (error: unknown, command: string) => void,
): Promise<string> {
  const request = readRequest(payload);
  const responses: ControlResponse[] = [];
  for (const entry of request.entries) {
    const command = readCommand(entry);
    if ('error' in command) {
      responses.push(command);
      break;
    }
    responses.push(await runCommand(command, plugin, onBug));
  }
  if (request.error) responses.push(request.error);
  return JSON.stringify({ responses });
}

/** The name in an answer to something that has none. */
const UNKNOWN = 'Unknown command';

const decoder = new TextDecoder('utf-8', { fatal: true });

function readRequest(payload: Uint8Array): { readonly entries: readonly unknown[]; readonly error?: ControlResponse } {
  let body: unknown;
  try {
    body = JSON.parse(decoder.decode(payload));
  } catch {
    return { entries: [], error: { command: UNKNOWN, error: 'Payload not valid JSON' } };
  }
  const commands = isObject(body) ? body.commands : undefined;
  if (Array.isArray(commands)) return { entries: commands };
  return { entries: [], error: { command: UNKNOWN, error: 'Invalid/missing commands' } };
}

function readCommand(entry: unknown): ControlCommand | (ControlResponse & { readonly error: string }) {
  if (!isObject(entry)) return { command: UNKNOWN, error: 'Command not an object' };
  const { command, correlationData } = entry;
  if (typeof command !== 'string') return { command: UNKNOWN, error: 'Missing command' };
  if (correlationData !== undefined && typeof correlationData !== 'string') {
    return { command, error: 'Invalid correlationData data type.' };
  }
  // A field named `error` is the caller's and means nothing; here it would mark the entry as bad.
  const { error: _ignored, ...fields } = entry;
  return { ...fields, command };
}

async function runCommand(
  command: ControlCommand,
  plugin: ControlPlugin,
  onBug: (error: unknown, command: string) => void,
): Promise<ControlResponse> {
  const head =
    command.correlationData === undefined
      ? { command: command.command }
      : { command: command.command, correlationData: command.correlationData };
  try {
    const data = await plugin.execute(command);
    return data === undefined ? head : { ...head, data };
  } catch (error) {
    if (error instanceof ControlRefusal) return { ...head, error: error.message };
    onBug(error, command.command);
    return { ...head, error: 'Internal error' };
  }
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
