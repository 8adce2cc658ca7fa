import { expect, test } from 'vitest';
import { startTestService } from '../../support/service.ts';

const LONG = 'x'.repeat(200_000);

test('every text that is stored has a longest length and no U+0000, and the refusal names its path', async () => {
  const { graphql, projectId } = await startTestService();
  const create = (field: string, type: string, required: object) => async (name: string, value: string) => {
    const { errors } = await graphql(`mutation ($input: ${type}!) { ${field}(input: $input) { __typename } }`, {
      input: { ...required, [name]: value },
    });
    const { code, info } = errors?.[0]?.extensions ?? {};
    const { issues = [] } = (info ?? {}) as { issues?: { path: string }[] };
    return { code, paths: [...new Set(issues.map(({ path }) => path))] };
  };
  const broker = { projectId, name: 'b', url: 'mqtt://127.0.0.1:1' };
  const setup = { ...broker, type: 'ON_PREMISE_SETUP', issuedTo: 'i', productId: 'p' };
  const token = { projectId, name: 't', role: 'VIEWER' };
  const cases = [
    { tryIt: create('createProject', 'CreateProjectInput', { name: 'p' }), names: ['name', 'description'] },
    { tryIt: create('createOrganization', 'CreateOrganizationInput', {}), names: ['name'] },
    { tryIt: create('createUser', 'CreateUserInput', { email: 'a@example.com' }), names: ['name', 'email'] },
    { tryIt: create('createToken', 'CreateTokenInput', token), names: ['name'] },
    {
      tryIt: create('addBroker', 'AddBrokerInput', broker),
      names: ['name', 'description', 'url', 'username', 'password', 'caCert', 'clientKey'],
    },
    { tryIt: create('addBroker', 'AddBrokerInput', setup), names: ['issuedTo', 'productId'] },
  ];
  for (const { tryIt, names } of cases) {
    for (const name of names) {
      for (const value of [name === 'url' ? `mqtt://${LONG}` : LONG, 'mqtt://a\0b@example.com']) {
        expect([name, value.length, await tryIt(name, value)]).toEqual([
          name,
          value.length,
          { code: 'INVALID', paths: [`input.${name}`] },
        ]);
      }
    }
  }
});
