import { isObjectType } from 'graphql';
import { expect, test } from 'vitest';
import { schema } from '../../../src/app/schema.ts';
import { createBroker, startRunning } from '../../engines/mosquitto/cloud-mosquitto.ts';
import { credentialsOf } from './rights-callers.ts';
import { CALLER_NAMES, CALLERS, type Caller, type Field, refusalOf, requirementOf } from './rights-model.ts';
import { furnished } from './rights-world.ts';

// The matrix of rights tries every guarded field. Here each answer is compared with what that field declares.

const fieldsOf = (typeName: string): readonly Field[] => {
  const type = schema.getType(typeName);
  return isObjectType(type) ? Object.values(type.getFields()) : [];
};

const questionsOf = (typeName: string) =>
  fieldsOf(typeName).filter(({ extensions }) => typeof extensions.viewerCan === 'string');

function requirementBehind({ extensions }: Field) {
  const [typeName = '', fieldName] = String(extensions.viewerCan).split('.');
  const requirement = fieldsOf(typeName)
    .filter(({ name }) => name === fieldName)
    .map(requirementOf)[0];
  if (!requirement) throw new Error(`${extensions.viewerCan} declares no requirement`);
  return requirement;
}

const TYPES = ['Project', 'CloudBroker', 'SelfHostedBroker', 'Bridge', 'Stream', 'Token', 'Certificate', 'Cluster'];

const selectionOf = (typeName: string) =>
  `${typeName}: __typename ${questionsOf(typeName)
    .map(({ name }) => name)
    .join(' ')}`;

const QUERY = `query ($project: ID!, $broker: ID!, $cloud: ID!, $cluster: ID!) {
  project(id: $project) {
    ${selectionOf('Project')}
    selfHosted: broker(id: $broker) { ... on SelfHostedBroker { ${selectionOf('SelfHostedBroker')} } }
    broker(id: $cloud) {
      ... on CloudBroker { ${selectionOf('CloudBroker')} }
      bridges { ${selectionOf('Bridge')} }
      streams { nodes { ${selectionOf('Stream')} } }
    }
    tokens { ${selectionOf('Token')} }
    certificates { nodes { ${selectionOf('Certificate')} } }
    cluster(id: $cluster) { ${selectionOf('Cluster')} }
  }
}`;

type Answers = Readonly<Record<string, unknown>>;

/** The first object of each type in a result, by the name of the type. */
function objectsIn(value: unknown, found: Map<string, Answers> = new Map()): ReadonlyMap<string, Answers> {
  if (typeof value !== 'object' || value === null) return found;
  for (const [key, inner] of Object.entries(value)) {
    if (TYPES.includes(key) && key === inner && !found.has(key)) found.set(key, value as Answers);
    objectsIn(inner, found);
  }
  return found;
}

const CREATE_STREAM = `mutation ($broker: ID!) {
  createStream(input: { brokerId: $broker, name: "s", sourceTopic: "a", targetTopic: "b" }) { stream { name } }
}`;

test.each([
  ['without', false],
  ['with', true],
])('viewerCan… returns what the guarded fields allow, %s strict roles', async (_word, isStrict) => {
  const world = await furnished(await startRunning(), { isStrict });
  const { projectId: project, brokerId: broker, clusterId: cluster } = world;
  const { id: cloud } = await createBroker(world, { engine: 'EMBEDDED' });
  expect((await world.graphql(CREATE_STREAM, { broker: cloud })).errors).toBeUndefined();
  const seen = new Set<string>();

  for (const name of CALLER_NAMES) {
    const caller: Caller = CALLERS[name];
    const token = await credentialsOf(name, world);
    const { data } = await world.graphql(QUERY, { project, broker, cloud, cluster }, token);
    const objects = objectsIn(data);
    // Who may see the project gets an answer for everything in it that the caller may see.
    expect([name, objects.has('Project')]).toEqual([name, caller.role !== undefined]);
    for (const [typeName, answers] of objects) {
      seen.add(typeName);
      for (const field of questionsOf(typeName)) {
        const expected = refusalOf(requirementBehind(field), caller, isStrict) === null;
        expect([name, typeName, field.name, answers[field.name]]).toEqual([name, typeName, field.name, expected]);
      }
    }
  }
  expect([...seen].toSorted()).toEqual(TYPES.toSorted());
});
