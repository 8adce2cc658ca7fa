import { ServiceError } from '../../../platform/errors.ts';
import type { ControlCommand } from '../../../protocol/control/envelope.ts';
import {
  type ControlCaller,
  type ControlPlugin,
  ControlRefusal,
  type PluginFactory,
} from '../../../protocol/control/plugin.ts';
import { requiredText, runCommandOf } from '../../../protocol/control/plugin-arguments.ts';
import type { ClientService } from '../../clients/client-service.ts';
import {
  CLIENT_CONTROL_API,
  type DisconnectClient,
  type Disconnected,
  FORESEE,
  parseDisconnected,
} from '../../clients/control/client-control.ts';
import { type FoundClient, foundClients, isConnected } from './found-clients.ts';
import { type AskNode, ofNode, refusePartly, type ServingNode, type ServingNodes } from './serving-nodes.ts';

export interface MergedClientControlOptions {
  readonly nodes: ServingNodes;
  readonly clients: Pick<ClientService, 'find' | 'expectEnds'>;
  readonly ask: AskNode;
}

/** What only plugins of ours know. */
const OURS = ['force', 'among', 'takeover'] as const;

/**
 * `cedalo/client-control` for a cluster whose nodes have clients of their own: a command goes to each node where the client is connected,
 * and where it is connected to none, to those that have its session; one of them, where they have sessions in common.
 *
 * Errors: NOT_FOUND (all nodes were asked, and none has it), BROKER_UNREACHABLE (of a node that could not be asked, which may have it),
 * and those of nodes; where it was done on one and not on another, `info.nodes` says so.
 */
export const mergedClientControlPlugin = (options: MergedClientControlOptions): PluginFactory => ({
  api: CLIENT_CONTROL_API,
  instead: true,
  create: async () => new MergedClientControl(options),
});

class MergedClientControl implements ControlPlugin {
  readonly api = CLIENT_CONTROL_API;
  readonly #options: MergedClientControlOptions;

  constructor(options: MergedClientControlOptions) {
    this.#options = options;
  }

  execute(command: ControlCommand): unknown {
    return runCommandOf(
      {
        disconnectclient: () => this.#disconnect(command),
        [FORESEE.toLowerCase()]: () => this.#disconnect(command),
        subscribeclient: () => this.#change(command),
        unsubscribeclient: () => this.#change(command),
      },
      command,
    );
  }

  close(): void {}

  async #disconnect(command: ControlCommand): Promise<object> {
    const answers = await this.#whereItIs(command, (node, clientid) => this.#disconnectAt(node, command, clientid));
    const [first] = answers;
    return { method: first?.method, disconnected: [...new Set(answers.flatMap(({ clientids }) => clientids))] };
  }

  async #disconnectAt(
    node: ServingNode,
    { command, ...fields }: ControlCommand,
    clientid: string,
  ): Promise<Disconnected> {
    const { ask, clients } = this.#options;
    const isForeseen = command === FORESEE;
    const whenKnown = isForeseen ? null : clients.expectEnds(node.broker, [clientid]);
    const done = await ask(node, async (controls) => {
      const isOurs = await servesOurs(controls);
      // A broker ends that connection and no other.
      if (isForeseen && !isOurs) return { method: 'BROKER', clientids: [clientid] } as const;
      const data = await controls.call(CLIENT_CONTROL_API, command, isOurs ? fields : documented(fields));
      return parseDisconnected(data, fields as Partial<DisconnectClient> & { clientid: string });
    });
    await whenKnown?.([clientid]);
    return done;
  }

  async #change({ command, ...fields }: ControlCommand): Promise<object> {
    await this.#whereItIs({ command, ...fields }, (node) =>
      this.#options.ask(node, async (controls) => {
        const isOurs = await servesOurs(controls);
        await controls.call(CLIENT_CONTROL_API, command, isOurs ? fields : documented(fields));
      }),
    );
    return {};
  }

  async #whereItIs<T>(
    command: ControlCommand,
    work: (node: ServingNode, clientid: string) => Promise<T>,
  ): Promise<readonly T[]> {
    const { nodes, clients } = this.#options;
    const clientid = requiredText(command, 'clientid');
    const { found, failures } = await foundClients(nodes, clients, clientid);
    const [unasked] = failures;
    if (found.length === 0) {
      if (unasked === undefined) throw new ControlRefusal('Client not found');
      const { code, message, info } = ofNode(unasked);
      throw new ServiceError(code, `No other node has "${clientid}", and this one could not be asked: ${message}`, {
        ...(info === undefined ? {} : { info }),
      });
    }
    const results = await nodes.each((node) => work(node, clientid), placesOf(found));
    refusePartly(results);
    return results.answers.map(({ answer }) => answer);
  }
}

/** Where it is connected; nowhere: where its session is. */
function placesOf(found: readonly FoundClient[]): ServingNode[] {
  const connected = found.filter(isConnected);
  return (connected.length > 0 ? connected : found).map(({ node }) => node);
}

const servesOurs = async (controls: ControlCaller): Promise<boolean> =>
  (await controls.capability(CLIENT_CONTROL_API)).provider === 'GATEWAY';

const documented = (fields: Readonly<Record<string, unknown>>) =>
  Object.fromEntries(Object.entries(fields).filter(([name]) => !(OURS as readonly string[]).includes(name)));
