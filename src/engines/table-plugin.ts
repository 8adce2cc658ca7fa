import type { ControlApi, ControlCommand } from '../protocol/control/envelope.ts';
import type { ControlPlugin } from '../protocol/control/plugin.ts';
import { runCommandOf } from '../protocol/control/plugin-arguments.ts';

type Commands = Readonly<Record<string, (command: ControlCommand) => unknown>>;

/** A control plugin that only has commands. The names in `commands` are in lower case. */
export const tablePlugin = (api: ControlApi, commands: Commands): ControlPlugin => ({
  api,
  execute: (command) => runCommandOf(commands, command),
  close: () => {},
});
