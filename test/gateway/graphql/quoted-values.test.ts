import { describe, expect, test } from 'vitest';
import { startTestService, type TestService } from '../../support/service.ts';

const SECRET = 'hunter2-and-more';
const client = `createAccount: { username: "a", password: "${SECRET}" }`;
const inList = (change: string, variable = '') =>
  `mutation ${variable} { changeAccessControl(input: { brokerId: "b", changes: [${change}] }) { outcome } }`;

test('no error quotes texts of the document, because they may be passwords', async () => {
  const service = await startTestService();
  const documents = [
    // Execution finds that a change has no member: graphql-js then quotes the whole argument.
    inList(`{ createAccount: $c }, { ${client} }`, '($c: AccountChange)'),
    inList(`{ ${client}, deleteAccessRole: $r }`, '($r: DeleteAccessRoleChange)'),
    inList(`{ createAccount: "${SECRET}" }`),
  ];
  for (const document of documents) {
    const { errors } = await service.graphql(document);
    expect(errors?.[0]?.extensions.code).toBe('INVALID');
    expect(JSON.stringify(errors)).not.toContain(SECRET);
  }
});

describe('an invalid variable', () => {
  const refusal = async (service: TestService, input: unknown) => {
    const { errors } = await service.graphql(
      'mutation ($input: ChangeAccessControlInput!) { changeAccessControl(input: $input) { outcome } }',
      input === undefined ? {} : { input },
    );
    return errors?.[0];
  };

  test('is reported by its path, without its value', async () => {
    const service = await startTestService();
    const fine = { deleteAccount: { username: 'a' } };
    const wrong = { createAccount: { username: 'a', password: [`${SECRET}" at "elsewhere"; `] } };
    const error = await refusal(service, { brokerId: 'b', changes: [fine, fine, wrong] });
    const path = 'input.changes.2.createAccount.password';
    const reason = 'String cannot represent a non string value';
    expect(error).toMatchObject({
      message: `${path}: ${reason}`,
      extensions: { code: 'INVALID', info: { issues: [{ path, reason }] } },
    });
    expect(JSON.stringify(error)).not.toContain(SECRET);
  });

  test('is reported by its name if it is invalid as a whole or missing', async () => {
    const service = await startTestService();
    expect(await refusal(service, SECRET)).toMatchObject({
      message: expect.stringMatching(/^input: Expected type "ChangeAccessControlInput" to be an object/),
    });
    expect(await refusal(service, undefined)).toMatchObject({
      message: expect.stringContaining('Variable "$input" of required type'),
      extensions: { code: 'INVALID' },
    });
  });
});
