import type { ControlApi } from './envelope.ts';
import type { ControlPlugin } from './plugin.ts';
import { type CommandTable, runCommandOf } from './plugin-arguments.ts';

/** A control plugin that only has commands. The names in `commands` are in lower case. */
export const tablePlugin = (api: ControlApi, commands: CommandTable): ControlPlugin => ({
  api,
  execute: (command) => runCommandOf(commands, command),
  close: () => {},
});
