import { type ControlApi, type ControlCommand, requestTopic } from '../../../protocol/control/envelope.ts';
import { listenerList } from '../../../protocol/control/listener-list.ts';
import type { ControlPlugin } from '../../../protocol/control/plugin.ts';
import { runCommandOf } from '../../../protocol/control/plugin-arguments.ts';
import type { ListenerInfo } from '../core/connection.ts';

/** `broker`: lists the control APIs and the listeners of the broker. */
export class BrokerPlugin implements ControlPlugin {
  readonly api = 'broker';
  readonly #apis: () => readonly ControlApi[];
  readonly #listeners: () => readonly ListenerInfo[];
  readonly #version: string;

  constructor(version: string, apis: () => readonly ControlApi[], listeners: () => readonly ListenerInfo[]) {
    this.#version = version;
    this.#apis = apis;
    this.#listeners = listeners;
  }

  execute(command: ControlCommand): unknown {
    return runCommandOf(
      {
        listplugins: () => ({
          plugins: this.#apis().map((api) => ({
            name: api,
            version: this.#version,
            'control-endpoints': [requestTopic(api)],
          })),
        }),
        listlisteners: () => listenerList(this.#listeners()),
      },
      command,
    );
  }

  close(): void {}
}
