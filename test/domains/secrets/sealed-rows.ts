import { SEALED_COLUMNS, type SealedColumn } from '../../../src/domains/secrets/sealed-columns.ts';
import { type SealedValue, valuesWithout } from '../../../src/domains/secrets/sealed-values.ts';
import type { Database } from '../../../src/platform/storage/database.ts';
import type { Sealer } from '../../../src/platform/storage/encryption/sealed.ts';

export const secretOf = ({ model, column }: SealedColumn): string => `the secret in ${model}.${column}`;

/** One row with a secret for each sealed column. */
export async function plantSecrets(db: Database, sealer: Sealer): Promise<void> {
  const of = (name: string, key: Readonly<Record<string, string>>): string => {
    const column = SEALED_COLUMNS.find(({ model, column: of }) => `${model}.${of}` === name);
    if (!column) throw new Error(`There is no sealed column ${name}`);
    return sealer.seal(secretOf(column), column.contextOf(key));
  };
  const at = { updatedAt: new Date('2020-01-01T00:00:00Z') };
  const [broker, user, certificate, call] = [{ id: 'brk_1' }, { id: 'usr_1' }, { id: 'crt_1' }, { id: 'cal_1' }];
  await db.user.create({
    data: { ...user, ...at, email: 'ada@example.org', name: 'Ada', totpSecret: of('user.totpSecret', user) },
  });
  const identity = { provider: 'sso', subject: 'issuer ada' };
  await db.identity.create({
    data: { ...identity, userId: user.id, sealedRefresh: of('identity.sealedRefresh', identity) },
  });
  await db.project.create({ data: { id: 'prj_1', name: 'Project', ownerUserId: user.id } });
  await db.broker.create({
    data: {
      ...broker,
      ...at,
      projectId: 'prj_1',
      type: 'SELF_HOSTED',
      name: 'Broker',
      sealedPassword: of('broker.sealedPassword', broker),
      sealedClientKey: of('broker.sealedClientKey', broker),
    },
  });
  await db.certificate.create({
    data: {
      ...certificate,
      ...at,
      projectId: 'prj_1',
      name: 'Certificate',
      filename: 'certificate.pem',
      cert: 'PEM',
      sealedKey: of('certificate.sealedKey', certificate),
    },
  });
  const channel = { id: 'ntc_1' };
  await db.notificationChannel.create({
    data: {
      ...channel,
      ...at,
      projectId: 'prj_1',
      kind: 'WEBHOOK',
      name: 'Channel',
      rules: '{}',
      target: '{}',
      sealedTarget: of('notificationChannel.sealedTarget', channel),
    },
  });
  const bridge = { brokerId: broker.id, bridge: 'mqtt-bridge' };
  await db.bridgeConfig.create({ data: { ...bridge, ...at, sealedConfig: of('bridgeConfig.sealedConfig', bridge) } });
  await db.cluster.create({ data: { ...broker, name: 'Cluster', mode: 'DYNSEC', keeper: 'none' } });
  const account = { clusterId: broker.id, username: 'device' };
  await db.clusterPassword.create({
    data: { ...account, sealedPassword: of('clusterPassword.sealedPassword', account) },
  });
  const attempt = { secretHash: 'hash' };
  const expiresAt = new Date(Date.now() + 600_000);
  await db.signInAttempt.create({
    data: { ...attempt, provider: 'sso', expiresAt, sealed: of('signInAttempt.sealed', attempt) },
  });
  await db.hostedCall.create({
    data: {
      ...call,
      brokerId: broker.id,
      api: 'inspect',
      command: of('hostedCall.command', call),
      answer: of('hostedCall.answer', call),
    },
  });
}

/** The first value of every column, with what it opens to. */
export async function openedSecrets(db: Database, sealer: Sealer) {
  const opened: { readonly name: string; readonly secret: string; readonly value: SealedValue | undefined }[] = [];
  for (const column of SEALED_COLUMNS) {
    const [value] = await valuesWithout(db, column, [], { after: null, take: 1 });
    const secret = value ? sealer.open(value.sealed, column.contextOf(value.key)) : 'nothing';
    opened.push({ name: `${column.model}.${column.column}`, secret, value });
  }
  return opened;
}
