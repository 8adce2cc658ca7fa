import { parseExactJson } from '../../platform/text/exact-json.ts';
import { withWrittenNumbers } from '../../platform/text/exact-number.ts';
import { isWithinBounds, MAX_REQUEST_VALUES } from '../../platform/text/json-bounds.ts';
import type { ControlCommand, ControlResponse } from './envelope.ts';
import { fieldOf, isFields } from './fields.ts';
import { type ControlPlugin, ControlRefusal } from './plugin.ts';

/**
 * Executes the commands of one request payload and returns the response payload, like Mosquitto's plugins: in order,
 * with one response each. A refused command does not stop later ones; an entry that is not a command does. Rejects only
 * if `plugin.settle` rejects. The texts of errors are those of Mosquitto. A bug is reported to `onBug`.
 */
export async function serveControlRequest(
  payload: Uint8Array,
  plugin: ControlPlugin,
  onBug: (error: unknown, command: string) => void,
): Promise<string> {
  const { commands, error } = readCommands(payload);
  await plugin.prepare?.(commands);
  const responses: ControlResponse[] = [];
  for (const command of commands) responses.push(await runCommand(command, plugin, onBug));
  await plugin.settle?.();
  if (error) responses.push(error);
  return JSON.stringify({ responses });
}

const UNKNOWN = 'Unknown command';

/** The commands until the first invalid entry, and the error of that one. */
function readCommands(payload: Uint8Array): {
  readonly commands: readonly ControlCommand[];
  readonly error?: ControlResponse;
} {
  let body: unknown;
  try {
    if (!isWithinBounds(payload, MAX_REQUEST_VALUES))
      throw new RangeError('has too many values, levels or shapes of objects');
    body = withWrittenNumbers(parseExactJson(decode(payload)));
  } catch (cause) {
    const problem = cause instanceof RangeError ? cause.message : 'not valid JSON';
    return { commands: [], error: { command: UNKNOWN, error: `Payload ${problem}` } };
  }
  const entries: unknown = isFields(body) ? fieldOf(body, 'commands') : undefined;
  if (!Array.isArray(entries)) return { commands: [], error: { command: UNKNOWN, error: 'Invalid/missing commands' } };
  const commands: ControlCommand[] = [];
  for (const entry of entries) {
    const command = readCommand(entry);
    if ('error' in command) return { commands, error: command };
    commands.push(command);
  }
  return { commands };
}

const strict = new TextDecoder('utf-8', { fatal: true });

/** Replaces invalid UTF-8 by a lone surrogate, so that a plugin can name the invalid field. */
function decode(payload: Uint8Array): string {
  try {
    return strict.decode(payload);
  } catch {
    return new TextDecoder().decode(payload).replaceAll('\ufffd', '\ud800');
  }
}

function readCommand(entry: unknown): ControlCommand | (ControlResponse & { readonly error: string }) {
  if (!isFields(entry)) return { command: UNKNOWN, error: 'Command not an object' };
  const command = fieldOf(entry, 'command');
  const correlationData = fieldOf(entry, 'correlationData');
  if (typeof command !== 'string') return { command: UNKNOWN, error: 'Missing command' };
  if (correlationData !== undefined && typeof correlationData !== 'string') {
    return { command, error: 'Invalid correlationData data type.' };
  }
  // A field `error` of the request has no meaning, but would mark the entry as invalid here.
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
