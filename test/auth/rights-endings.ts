import { PASSWORD, type TestService } from '../support/service.ts';

/** A service with a broker that people watch. */
export interface World extends TestService {
  readonly brokerId: string;
}

/** Somebody whose subscription will end. */
export interface Holder {
  readonly token: string;
  /** Takes the right away; answers when that was answered, in `performance.now()`, if it is not now. */
  readonly end: () => Promise<unknown>;
}

export interface RightsEnding {
  readonly code: 'UNAUTHORIZED' | 'NOT_ALLOWED';
  readonly holder: (world: World) => Promise<Holder>;
}

export const done = async (world: TestService, mutation: string, input: object, token?: string): Promise<unknown> => {
  const { data, errors } = await world.graphql(mutation, { i: input }, token);
  if (errors) throw new Error(JSON.stringify(errors));
  return data;
};

const CREATE_TOKEN = 'mutation ($i: CreateTokenInput!) { createToken(input: $i) { secret token { id } } }';

export async function newToken(
  world: TestService,
  more: object = {},
): Promise<{ readonly token: string; readonly id: string }> {
  const input = { projectId: world.projectId, name: 'dashboard', role: 'VIEWER', ...more };
  const { createToken } = (await done(world, CREATE_TOKEN, input)) as {
    createToken: { secret: string; token: { id: string } };
  };
  return { token: createToken.secret, id: createToken.token.id };
}

/** In a moment, by both clocks. */
const soon = () => ({ date: new Date(Date.now() + 100), at: performance.now() + 100 });

/** All that takes rights away. What no mutation does yet is written as a mutation would. */
export const RIGHTS_ENDINGS: Record<string, RightsEnding> = {
  'a token that is revoked': {
    code: 'UNAUTHORIZED',
    holder: async (world) => {
      const { token, id } = await newToken(world);
      const revoke = 'mutation ($i: RevokeTokenInput!) { revokeToken(input: $i) { revokedTokenId } }';
      return { token, end: () => done(world, revoke, { tokenId: id }) };
    },
  },
  'a token that expires': {
    code: 'UNAUTHORIZED',
    holder: async (world) => {
      const { token, id } = await newToken(world, { validUntil: new Date(Date.now() + 3_600_000).toISOString() });
      return {
        token,
        end: async () => {
          const { date, at } = soon();
          await world.storage.db.projectToken.update({ where: { id }, data: { validUntil: date } });
          await world.storage.changes.announce('token', id);
          return at;
        },
      };
    },
  },
  'a token that is restricted to other brokers': {
    code: 'NOT_ALLOWED',
    holder: async (world) => {
      const { body } = await world.rest('POST', `/api/projects/${world.projectId}/brokers`, world.root, {
        name: 'other',
        url: 'mqtt://127.0.0.1:1',
      });
      const { token, id } = await newToken(world, { brokerIds: [world.brokerId] });
      return {
        token,
        end: async () => {
          const brokers = { deleteMany: {}, create: { brokerId: body.id } };
          await world.storage.db.projectToken.update({ where: { id }, data: { brokers } });
          await world.storage.changes.announce('token', id);
        },
      };
    },
  },
  'a member who is removed': {
    code: 'NOT_ALLOWED',
    holder: async (world) => {
      const { token, email } = await world.person('VIEWER');
      const remove = 'mutation ($i: RemoveProjectMemberInput!) { removeProjectMember(input: $i) { user { id } } }';
      return { token, end: () => done(world, remove, { projectId: world.projectId, email }) };
    },
  },
  'a session that is logged out': {
    code: 'UNAUTHORIZED',
    holder: async (world) => {
      const { token } = await world.person('VIEWER');
      return { token, end: () => world.graphql('mutation { logout { loggedOut } }', {}, token) };
    },
  },
  'the other sessions of a person who changes the password': {
    code: 'UNAUTHORIZED',
    holder: async (world) => {
      const { token, email } = await world.person('VIEWER');
      const other = await world.login(email, PASSWORD);
      const change = 'mutation ($i: ChangePasswordInput!) { changePassword(input: $i) { user { id } } }';
      const input = { currentPassword: PASSWORD, newPassword: 'an even better one' };
      return { token, end: () => done(world, change, input, other) };
    },
  },
  'a person whose password is reset': {
    code: 'UNAUTHORIZED',
    holder: async (world) => {
      const { token, email } = await world.person('VIEWER');
      const reset = 'mutation ($i: ResetUserPasswordInput!) { resetUserPassword(input: $i) { user { id } } }';
      return { token, end: () => done(world, reset, { email, password: 'an even better one' }) };
    },
  },
  'a session that expires': {
    code: 'UNAUTHORIZED',
    holder: async (world) => {
      const { token, id } = await world.person('VIEWER');
      return {
        token,
        end: async () => {
          const { date, at } = soon();
          await world.storage.db.session.updateMany({ where: { userId: id }, data: { expiresAt: date } });
          await world.storage.changes.announce('user', id);
          return at;
        },
      };
    },
  },
  'a person who is removed': {
    code: 'UNAUTHORIZED',
    holder: async (world) => {
      const { token, id } = await world.person('VIEWER');
      const remove = 'mutation ($i: DeleteUserInput!) { deleteUser(input: $i) { deletedUserId } }';
      return { token, end: () => done(world, remove, { userId: id }) };
    },
  },
  'a root administrator who is one no longer': {
    code: 'NOT_ALLOWED',
    holder: async (world) => {
      const { token, id } = await world.person(null);
      await world.storage.db.user.update({ where: { id }, data: { isRoot: true } });
      await world.storage.changes.announce('user', id);
      return {
        token,
        end: async () => {
          await world.storage.db.user.update({ where: { id }, data: { isRoot: false } });
          await world.storage.changes.announce('user', id);
        },
      };
    },
  },
};
