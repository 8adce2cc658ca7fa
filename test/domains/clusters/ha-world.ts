import { onTestFinished } from 'vitest';
import { type ScriptedBroker, startScriptedBroker } from '../../support/aedes-broker.ts';
import { startTestService, type TestService } from '../../support/service.ts';

type Fields = Readonly<Record<string, unknown>>;

interface Member {
  readonly address: string;
  readonly port: number;
  readonly nodeid: number;
}

/** A commercial broker that can be a cluster node. It implements `cedalo/ha` as documented. */
export interface HaBroker extends ScriptedBroker {
  readonly brokerId: string;
  /** Position of the broker, from 1. The broker has this node number in clusters that `create` creates. */
  readonly nodeId: number;
  /** The cluster that the broker is in, with the broker's node number in that cluster. */
  cluster: { readonly name: string; readonly nodeId: number; readonly members: Member[] } | null;
  /** Responses by command, sent instead of executing it: `data` or `error`. `null`: no response is sent. */
  readonly answers: Map<string, Fields | null>;
  /** Commands that change something, oldest first. */
  readonly commands: Fields[];
  /** Called with each command before it is executed. */
  onCommand: (command: string) => void;
}

/** A service, and commercial brokers that form one cluster. */
interface HaWorld {
  readonly service: TestService;
  readonly nodes: readonly HaBroker[];
  /** Node number of the leader. `null` during an election. */
  leader: number | null;
  term: number;
  // biome-ignore lint/suspicious/noExplicitAny: tests read the fields that they selected.
  graph(document: string, variables?: Record<string, unknown>): Promise<any>;
  /** Creates a cluster of the first `count` brokers and returns its id. */
  create(count?: number, mode?: 'FULL' | 'HP'): Promise<string>;
}

export const haNode = ({ brokerId, nodeId }: HaBroker) => ({
  brokerId,
  nodeId,
  name: `node ${nodeId}`,
  address: `10.0.0.${nodeId}`,
  port: 7000,
});

const READS = ['getCluster', 'getRaftStatus', 'isLeader'];

export async function haWorld(count = 3, env: Record<string, string> = {}): Promise<HaWorld> {
  const service = await startTestService({ env });
  const nodes: HaBroker[] = [];
  const graph = async (document: string, variables: Record<string, unknown> = {}) => {
    const { data, errors } = await service.graphql(document, variables);
    if (errors) throw Object.assign(new Error(errors[0]?.message), errors[0]?.extensions);
    return data;
  };
  const world: HaWorld = {
    service,
    nodes,
    leader: 1,
    term: 4,
    graph,
    create: async (of = count, mode = 'FULL') => {
      const input = {
        projectId: service.projectId,
        name: 'plant',
        mode,
        nodes: nodes.slice(0, of).map(haNode),
      };
      const { createCluster } = await graph(
        'mutation ($input: CreateClusterInput!) { createCluster(input: $input) { cluster { id } } }',
        { input },
      );
      return createCluster.cluster.id;
    },
  };
  for (let nodeId = 1; nodeId <= count; nodeId++) nodes.push(await addHaBroker(world, nodeId));
  const isReady = ({ brokerId: b }: HaBroker) =>
    graph('query ($b: ID!) { broker(id: $b) { license { issuedTo } } }', { b }).then(
      ({ broker }) => broker.license !== null,
      () => false,
    );
  for (const node of nodes) while (!(await isReady(node)));
  return world;
}

async function addHaBroker(world: HaWorld, nodeId: number): Promise<HaBroker> {
  const { rest, root, projectId } = world.service;
  const broker = await startScriptedBroker((topic, payload) => {
    if (topic === '$CONTROL/cedalo/license/v1') {
      const { commands } = JSON.parse(payload) as { commands: Fields[] };
      const responses = commands.map((command) => ({ ...command, data: { issuedTo: `node ${nodeId}` } }));
      return [JSON.stringify({ responses })];
    }
    if (topic !== '$CONTROL/cedalo/ha/v1') return ['{"error":"endpoint not available"}'];
    const responses = (JSON.parse(payload) as { commands: Fields[] }).commands.flatMap(
      ({ correlationData, ...fields }) => {
        const command = String(fields.command);
        if (!READS.includes(command)) made.commands.push(fields);
        made.onCommand(command);
        const scripted = made.answers.get(command);
        const response = scripted === undefined ? responseOf(world, made, fields) : scripted;
        return response === null ? [] : [{ command, correlationData, ...response }];
      },
    );
    return responses.length === 0 ? [] : [JSON.stringify({ responses })];
  });
  const { body } = await rest('POST', `/api/projects/${projectId}/brokers`, root, {
    name: `b${nodeId}`,
    url: broker.url,
  });
  let isStopped = false;
  const made: HaBroker = {
    ...broker,
    stop: async () => {
      if (!isStopped) await broker.stop();
      isStopped = true;
    },
    brokerId: body.id,
    nodeId,
    cluster: null,
    answers: new Map(),
    commands: [],
    onCommand: () => undefined,
  };
  onTestFinished(made.stop);
  return made;
}

/** Only the leader adds and removes members. All nodes of the cluster have the same list of members. */
function responseOf(world: HaWorld, node: HaBroker, fields: Fields): Fields {
  const { command, clustername } = fields;
  const { cluster } = node;
  const isLeader = cluster !== null && world.leader === cluster.nodeId;
  if (command === 'createCluster' || command === 'joinCluster') {
    if (cluster !== null) return { error: 'This broker is already part of a cluster.' };
    const members = fields.nodes as (Member & { readonly mynode?: boolean })[];
    const nodeId = members.find(({ mynode }) => mynode)?.nodeid ?? node.nodeId;
    node.cluster = { name: String(clustername), nodeId, members };
    return {};
  }
  if (command === 'getCluster' && cluster !== null) {
    return { data: { clustername: cluster.name, uuid: 'u', nodes: cluster.members, version: 1, syncmode: 'full' } };
  }
  if (cluster === null) return { error: 'This broker is not part of a cluster.' };
  if (command === 'isLeader') return { data: { leader: isLeader, clustername: cluster.name, uuid: 'u' } };
  if (command === 'getRaftStatus') {
    const nodes = cluster.members.map(({ address, port, nodeid }) => ({
      address: `${address}:${port}`,
      id: nodeid,
      role: 1,
    }));
    const state = isLeader ? 3 : world.leader === null ? 2 : 1;
    const index = isLeader ? 96 : 96 - cluster.nodeId;
    return {
      data: {
        state,
        current_term: world.term,
        commit_index: 96,
        last_applied: index,
        last_stored: index,
        syncmode: 'full',
        nodes,
      },
    };
  }
  if (command === 'deleteCluster' || command === 'leaveCluster') {
    node.cluster = null;
    return {};
  }
  if (!isLeader) return { error: 'This broker is not the cluster leader.' };
  const { address, port, nodeid } = fields as unknown as Member;
  const others = cluster.members.filter((member) => member.nodeid !== nodeid);
  if (command === 'removeNode' && others.length === cluster.members.length) return { error: 'Unknown node.' };
  const members = command === 'addNode' ? [...others, { address, port, nodeid }] : others;
  for (const one of world.nodes) {
    if (one.cluster === null) continue;
    // Brokers that join at the same time receive their numbers in any order.
    const isRemoved = command === 'removeNode' && one.cluster.nodeId === nodeid;
    one.cluster = isRemoved ? null : { ...one.cluster, members };
  }
  return {};
}
