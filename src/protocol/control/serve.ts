import type { ControlCommand, ControlResponse } from './envelope.ts';
import { fieldOf, isFields } from './fields.ts';
import { type ControlPlugin, ControlRefusal } from './plugin.ts';

/**
 * Runs one request payload on a plugin and builds the response payload, as Mosquitto's plugins do: commands run in order, one
 * answer each, in one message. A refused command does not stop the next ones; an entry that is no command ends the batch, and
 * what was answered before is still sent. Rejects only where the plugin could not settle what it did.
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
  const { commands, error } = readCommands(readRequest(payload));
  await plugin.prepare?.(commands);
  const responses: ControlResponse[] = [];
  for (const command of commands) responses.push(await runCommand(command, plugin, onBug));
  await plugin.settle?.();
  if (error) responses.push(error);
  return JSON.stringify({ responses });
}

/** The name in an answer to something that has none. */
const UNKNOWN = 'Unknown command';

interface ReadRequest {
  readonly entries: readonly unknown[];
  readonly error?: ControlResponse;
}

function readRequest(payload: Uint8Array): ReadRequest {
  let body: unknown;
  try {
    body = JSON.parse(decode(payload));
  } catch {
    return { entries: [], error: { command: UNKNOWN, error: 'Payload not valid JSON' } };
  }
  const commands = isFields(body) ? fieldOf(body, 'commands') : undefined;
  if (Array.isArray(commands)) return { entries: commands };
  return { entries: [], error: { command: UNKNOWN, error: 'Invalid/missing commands' } };
}

const strict = new TextDecoder('utf-8', { fatal: true });

/** What is not UTF-8 becomes half a surrogate pair, which no text has: a plugin can say which of its fields it is in. */
function decode(payload: Uint8Array): string {
  try {
    return strict.decode(payload);
  } catch {
    return new TextDecoder().decode(payload).replaceAll('\ufffd', '\ud800');
  }
}

/** Those before the first that is none, and what is answered to that one. */
function readCommands({ entries, error }: ReadRequest): {
  readonly commands: readonly ControlCommand[];
  readonly error?: ControlResponse | undefined;
} {
  const commands: ControlCommand[] = [];
  for (const entry of entries) {
    const command = readCommand(entry);
    if ('error' in command) return { commands, error: command };
    commands.push(command);
  }
  return { commands, error };
}

function readCommand(entry: unknown): ControlCommand | (ControlResponse & { readonly error: string }) {
  if (!isFields(entry)) return { command: UNKNOWN, error: 'Command not an object' };
  const command = fieldOf(entry, 'command');
  const correlationData = fieldOf(entry, 'correlationData');
  if (typeof command !== 'string') return { command: UNKNOWN, error: 'Missing command' };
  if (correlationData !== undefined && typeof correlationData !== 'string') {
    return { command, error: 'Invalid correlationData data type.' };
  }
  // A field named `error` is the caller's and means nothing; here it would mark the entry as bad.
  const { error: _ignored, ...fields } = entry;
  return correlationData === undefined ? { ...fields, command } : { ...fields, command, correlationData };
}

async function runCommand(
  command: ControlCommand,
  plugin: ControlPlugin,
  onBug: (error: unknown, command: string) => void,
): Promise<ControlResponse> {
  const name = plugin.nameOf?.(command.command) ?? command.command;
  const head =
    command.correlationData === undefined
      ? { command: name }
      : { command: name, correlationData: command.correlationData };
  try {
    const data = await plugin.execute(command);
    return data === undefined ? head : { ...head, data };
  } catch (error) {
    if (error instanceof ControlRefusal) return { ...head, error: error.message };
    onBug(error, command.command);
    return { ...head, error: 'Internal error' };
  }
}
