import { TOTP } from 'otpauth';
import { PASSWORD, type TestService } from '../../support/service.ts';

/** A service with a broker that people watch. */
export interface World extends TestService {
  readonly brokerId: string;
}

/** A caller whose subscription will end. */
interface Holder {
  readonly token: string;
  /** Revokes the permission. */
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

/** A second factor that was begun: a code of the app. */
async function begunSecondFactor(world: TestService, token: string): Promise<() => string> {
  const begin = 'mutation ($i: BeginSecondFactorInput!) { beginSecondFactor(input: $i) { secret } }';
  const { beginSecondFactor } = (await done(world, begin, { currentPassword: PASSWORD }, token)) as {
    beginSecondFactor: { secret: string };
  };
  return () => new TOTP({ secret: beginSecondFactor.secret }).generate();
}

const CONFIRM = 'mutation ($i: ConfirmSecondFactorInput!) { confirmSecondFactor(input: $i) { recoveryCodes } }';
const SET_ROOT = 'mutation ($i: SetRootAdminInput!) { setRootAdmin(input: $i) { user { id } } }';
const ROTATE = 'mutation ($i: RotateTokenInput!) { rotateToken(input: $i) { token { id } } }';

const soon = () => new Date(Date.now() + 100);

/** All that takes rights away from people and tokens of this service. What time alone does is written, to be soon. */
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
          await world.storage.db.projectToken.update({ where: { id }, data: { validUntil: soon() } });
          await world.storage.changes.announce('token', id);
        },
      };
    },
  },
  'a token whose secret is replaced at once': {
    code: 'UNAUTHORIZED',
    holder: async (world) => {
      const { token, id } = await newToken(world);
      return { token, end: () => done(world, ROTATE, { tokenId: id, overlapSeconds: 0 }) };
    },
  },
  'a secret before the last one, whose overlap ends': {
    code: 'UNAUTHORIZED',
    holder: async (world) => {
      const { token, id } = await newToken(world);
      await done(world, ROTATE, { tokenId: id });
      return {
        token,
        end: async () => {
          await world.storage.db.projectToken.update({ where: { id }, data: { previousValidUntil: soon() } });
          await world.storage.changes.announce('token', id);
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
      return { token, end: () => world.graphql('mutation { logout { isLoggedOut } }', {}, token) };
    },
  },
  'a session that its person ends from another one': {
    code: 'UNAUTHORIZED',
    holder: async (world) => {
      const { token, id } = await world.person('VIEWER');
      const other = await world.services.auth.sessions.open(id);
      const session = await world.services.auth.viewerOfSecret(token);
      const end = 'mutation ($i: EndSessionInput!) { endSession(input: $i) { endedSessionId } }';
      return { token, end: () => done(world, end, { sessionId: session.credentialId }, other.token) };
    },
  },
  'a session whose person ends all others': {
    code: 'UNAUTHORIZED',
    holder: async (world) => {
      const { token, id } = await world.person('VIEWER');
      const other = await world.services.auth.sessions.open(id);
      return { token, end: () => world.graphql('mutation { endOtherSessions { count } }', {}, other.token) };
    },
  },
  'a person whom an administrator signs out': {
    code: 'UNAUTHORIZED',
    holder: async (world) => {
      const { token, id } = await world.person('VIEWER');
      const end = 'mutation ($i: EndUserSessionsInput!) { endUserSessions(input: $i) { count } }';
      return { token, end: () => done(world, end, { userId: id }) };
    },
  },
  'a session without the second factor that its person confirms': {
    code: 'UNAUTHORIZED',
    holder: async (world) => {
      const { token, id } = await world.person('VIEWER');
      const other = await world.services.auth.sessions.open(id);
      const code = await begunSecondFactor(world, other.token);
      return { token, end: () => done(world, CONFIRM, { code: code() }, other.token) };
    },
  },
  'a person whose second factor is reset': {
    code: 'UNAUTHORIZED',
    holder: async (world) => {
      const { token, id } = await world.person('VIEWER');
      await done(world, CONFIRM, { code: (await begunSecondFactor(world, token))() }, token);
      const reset = 'mutation ($i: ResetSecondFactorInput!) { resetSecondFactor(input: $i) { user { id } } }';
      return { token, end: () => done(world, reset, { userId: id }) };
    },
  },
  'a person who signs in elsewhere from now on': {
    code: 'UNAUTHORIZED',
    holder: async (world) => {
      const { token, id } = await world.person('VIEWER');
      const update = 'mutation ($i: UpdateUserInput!) { updateUser(input: $i) { user { id } } }';
      return { token, end: () => done(world, update, { userId: id, ssoType: 'SSO' }) };
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
          await world.storage.db.session.updateMany({ where: { userId: id }, data: { expiresAt: soon() } });
          await world.storage.changes.announce('user', id);
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
      const { token, email } = await world.person(null);
      await done(world, SET_ROOT, { email, isRootAdmin: true });
      return { token, end: () => done(world, SET_ROOT, { email, isRootAdmin: false }) };
    },
  },
};
