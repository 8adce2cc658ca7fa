import {
  CLIENT_CONTROL_API,
  type DisconnectClient,
  type Disconnected,
  PREVIEW_DISCONNECT,
  parseDisconnected,
} from '../../../protocol/apis/clients/client-control.ts';
import type { ControlCommand } from '../../../protocol/control/envelope.ts';
import { type ControlCaller, ControlRefusal, type PluginFactory } from '../../../protocol/control/plugin.ts';
import { requiredText } from '../../../protocol/control/plugin-arguments.ts';
import type { ClientService } from '../../clients/client-service.ts';
import { willField } from '../../clients/control/client-input.ts';
import { type FoundClient, findClients, isConnected } from './client-lookup.ts';
import { type CallNode, type ClusterNodes, type NodeEntry, throwIfPartial, unknownElsewhere } from './cluster-nodes.ts';
import { type ClusterCommands, clusterPlugin } from './cluster-plugin.ts';

interface MergedClientControlOptions {
  readonly nodes: ClusterNodes;
  readonly clients: Pick<ClientService, 'find' | 'expectEnds'>;
  readonly call: CallNode;
}

/**
 * `cedalo/client-control` for a cluster whose nodes have their own clients. A command goes to each node to which the
 * client is connected. If it is connected to none, the command goes to the nodes that have its session.
 *
 * Errors: NOT_FOUND (no node knows the client), BROKER_UNREACHABLE (a node that may know the client is not reachable),
 * and those of nodes. If the command failed on some nodes, `info.nodes` lists the results.
 */
export const mergedClientControlPlugin = (options: MergedClientControlOptions): PluginFactory =>
  clusterPlugin(CLIENT_CONTROL_API, () => new MergedClientControl(options));

class MergedClientControl implements ClusterCommands {
  readonly #options: MergedClientControlOptions;

  constructor(options: MergedClientControlOptions) {
    this.#options = options;
  }

  readonly commands: ClusterCommands['commands'] = {
    disconnectclient: (command) => this.#disconnect(command),
    [PREVIEW_DISCONNECT.toLowerCase()]: (command) => this.#disconnect(command),
    subscribeclient: (command) => this.#change(command),
    unsubscribeclient: (command) => this.#change(command),
  };

  async #disconnect(command: ControlCommand): Promise<object> {
    const results = await this.#onNodesOf(command, (node, clientid) => this.#disconnectAt(node, command, clientid));
    const [first] = results;
    return { method: first?.method, disconnected: [...new Set(results.flatMap(({ clientids }) => clientids))] };
  }

  async #disconnectAt(node: NodeEntry, command: ControlCommand, clientid: string): Promise<Disconnected> {
    const { call, clients } = this.#options;
    const isForeseen = command.command === PREVIEW_DISCONNECT;
    const whenKnown = isForeseen ? null : clients.expectEnds(node.broker, [clientid]);
    const done = await call(node, async (controls) => {
      // A broker closes only this connection.
      if (isForeseen && !(await isGatewayPlugin(controls))) return { method: 'BROKER', clientids: [clientid] } as const;
      return parseDisconnected(await send(controls, node, command), {
        ...(command as Partial<DisconnectClient>),
        clientid,
      });
    });
    await whenKnown?.([clientid]);
    return done;
  }

  async #change(command: ControlCommand): Promise<object> {
    await this.#onNodesOf(command, (node) => this.#options.call(node, (controls) => send(controls, node, command)));
    return {};
  }

  async #onNodesOf<T>(
    command: ControlCommand,
    work: (node: NodeEntry, clientid: string) => Promise<T>,
  ): Promise<readonly T[]> {
    const { nodes, clients } = this.#options;
    const clientid = requiredText(command, 'clientid');
    const { found, failures } = await findClients(nodes, clients, clientid);
    const [failure] = failures;
    if (found.length === 0) {
      if (failure === undefined) throw new ControlRefusal('Client not found');
      throw unknownElsewhere(failure, clientid);
    }
    const results = await nodes.callAll((node) => work(node, clientid), nodesOf(found));
    throwIfPartial(results);
    return results.results.map(({ value }) => value);
  }
}

function nodesOf(found: readonly FoundClient[]): NodeEntry[] {
  const connected = found.filter(isConnected);
  return (connected.length > 0 ? connected : found).map(({ node }) => node);
}

const isGatewayPlugin = async (controls: ControlCaller): Promise<boolean> =>
  (await controls.capability(CLIENT_CONTROL_API)).provider === 'GATEWAY';

/** Brokers receive only the documented fields. */
async function send(
  controls: ControlCaller,
  { broker }: NodeEntry,
  { command, ...fields }: ControlCommand & Partial<DisconnectClient>,
): Promise<unknown> {
  if (await isGatewayPlugin(controls)) return controls.call(CLIENT_CONTROL_API, command, fields);
  const { force: _force, among: _among, takeover: _takeover, discardWill, ...documented } = fields;
  return controls.call(CLIENT_CONTROL_API, command, { ...documented, ...willField(broker, discardWill) });
}
