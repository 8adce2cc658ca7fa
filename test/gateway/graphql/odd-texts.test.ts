import { expect, test } from 'vitest';
import { startTestService } from '../../support/service.ts';

test('ids, addresses and cursors that cannot exist are errors of the caller, with any characters', async () => {
  const { graphql, projectId } = await startTestService();
  const codeOf = async (document: string, x: string, token?: null) =>
    (await graphql(document, { x }, token)).errors?.[0]?.extensions.code ?? 'NONE';
  const documents = [
    'query ($x: ID!) { node(id: $x) { id } }',
    'query ($x: ID!) { user(id: $x) { id } }',
    'query ($x: String) { users(after: $x) { nodes { id } } }',
    'mutation ($x: ID!) { deleteUser(input: { userId: $x }) { deletedUserId } }',
    'mutation ($x: ID!) { revokeToken(input: { tokenId: $x }) { revokedTokenId } }',
    `mutation ($x: String!) { setProjectMember(input: { projectId: "${projectId}", email: $x, role: VIEWER }) { member { role } } }`,
  ];
  const login = 'mutation ($x: String!) { login(input: { email: $x, password: "x" }) { token } }';
  for (const end of ['a\0b', '\ud800', '%00', "' or 1=1 --"]) {
    for (const document of documents) {
      for (const prefix of ['usr_', 'org_', 'tok_', 'prj_', 'brk_']) {
        expect(['NONE', 'NOT_FOUND', 'INVALID']).toContain(await codeOf(document, prefix + end));
      }
    }
    expect(['UNAUTHORIZED', 'INVALID']).toContain(await codeOf(login, end, null));
  }
});
