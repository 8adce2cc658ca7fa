import { expect, test } from 'vitest';
import { BrokerCache } from '../../../src/domains/brokers/broker-cache.ts';
import { CertificateCache } from '../../../src/domains/certificates/certificate-cache.ts';
import { CertificateService } from '../../../src/domains/certificates/certificate-service.ts';
import { DeploymentRows } from '../../../src/domains/certificates/deployment/deployment-rows.ts';
import { LeasedMutex } from '../../../src/platform/scheduling/leased-mutex.ts';
import type { Database } from '../../../src/platform/storage/database.ts';
import { openSealer } from '../../../src/platform/storage/encryption/sealed.ts';
import type { Storage } from '../../../src/platform/storage/storage.ts';
import { createAuthority } from '../../support/certificates.ts';
import { newDatabaseUrl, openTestStorage, silentLog, temporaryFolder } from '../../support/database.ts';
import { describeEngines } from '../../support/engines.ts';

const CERTIFICATES = { name: 'certificates of this broker', prefix: 'certificates' } as const;
const root = createAuthority({ name: 'Factory' });
const server = root.issue({ name: 'broker' });
const renewed = root.issue({ name: 'broker' });

/** The certificate services of one process. */
async function processOn(storage: Storage) {
  const { db, changes } = storage;
  const parts = { db, changes, log: silentLog };
  const [cache, brokers] = [new CertificateCache(parts), new BrokerCache(parts)];
  await Promise.all([cache.load(), brokers.load()]);
  const sealer = openSealer({ dataDir: temporaryFolder(), secretKey: 'k'.repeat(64) });
  const certificates = new CertificateService({ db, cache, brokers, sealer });
  return { db, changes, cache, brokers, certificates, rows: new DeploymentRows(db, cache) };
}

async function addProject(db: Database): Promise<string> {
  const user = await db.user.create({ data: { id: 'usr_1', email: 'a@example.com', name: 'A' } });
  await db.project.create({ data: { id: 'prj_1', name: 'P', ownerUserId: user.id } });
  await db.broker.create({
    data: { id: 'brk_1', projectId: 'prj_1', type: 'SELF_HOSTED', name: 'B', url: 'mqtt://b' },
  });
  return 'prj_1';
}

const place = (certificateId: string, port = 8883) => ({ certificateId, brokerId: 'brk_1', port, bindAddress: '' });

const list = (certificates: CertificateService, target: object = {}) =>
  certificates.list({ projectId: 'prj_1', ...target }, { where: {}, orderBy: [], take: 100, skip: 0 });

describeEngines((engine, postgres) => {
  const open = async () => openTestStorage({ databaseUrl: await newDatabaseUrl(engine, postgres) });

  test('a stored certificate that cannot be read is left out, and hides no other', async () => {
    const storage = await open();
    const { db, certificates } = await processOn(storage);
    const projectId = await addProject(db);
    const [good, bad] = [
      await certificates.create(projectId, { filename: 'good.pem', cert: server.key + server.cert }),
      await certificates.create(projectId, { filename: 'bad.pem', cert: renewed.key + renewed.cert }),
    ];
    await db.certificate.update({ where: { id: bad.id }, data: { cert: server.cert.replaceAll('A', 'B') } });
    const next = await processOn(storage);
    expect(next.cache.all().map(({ id }) => id)).toEqual([good.id]);
    expect((await list(next.certificates)).map(({ id }) => id)).toEqual([good.id]);
    expect(await next.certificates.count({ projectId })).toBe(1);

    await db.certificate.update({ where: { id: bad.id }, data: { cert: renewed.cert } });
    await next.changes.announce('certificate', bad.id);
    await expect.poll(() => next.certificates.count({ projectId })).toBe(2);
  });

  test('a certificate is stored, listed, changed and deleted, and its key is sealed', async () => {
    const { db, certificates } = await processOn(await open());
    const projectId = await addProject(db);
    const stored = await certificates.create(projectId, { filename: 'ü.pem', cert: server.key + server.cert });
    expect(stored).toMatchObject({ name: 'ü.pem', filename: 'ü.pem', hasPrivateKey: true, cert: server.cert });
    expect(JSON.stringify(stored)).not.toContain('PRIVATE');
    const row = await db.certificate.findUniqueOrThrow({ where: { id: stored.id } });
    expect(row.sealedKey).toMatch(/^v1\./);
    expect(row.cert).toBe(server.cert);
    expect((await list(certificates)).map(({ id }) => id)).toEqual([stored.id]);
    expect(await list(certificates, { filename: 'ü.pem' })).toHaveLength(1);
    await expect(list(certificates, { filename: 'u.pem' })).rejects.toThrow('There is no certificate');

    // A renewed certificate with the same key uses the stored key. One with another key needs that key.
    await expect(certificates.update(stored.id, { cert: renewed.cert })).rejects.toMatchObject({
      info: { issues: [{ path: 'input.privateKey', reason: 'the private key does not belong to the certificate' }] },
    });
    await expect(certificates.update(stored.id, { privateKey: null })).rejects.toMatchObject({ code: 'INVALID' });
    const named = await certificates.update(stored.id, { name: ' Hall ', cert: server.leaf });
    expect(named).toMatchObject({ name: 'Hall', hasPrivateKey: true, cert: server.leaf, missingIssuer: 'CN=Factory' });
    const after = await certificates.update(stored.id, { cert: renewed.cert, privateKey: renewed.key });
    expect(after.fingerprint256).toBe(renewed.fingerprint256);
    expect((await certificates.update(stored.id, { cert: root.cert, privateKey: null })).hasPrivateKey).toBe(false);
    await certificates.remove(stored.id);
    expect(await list(certificates)).toEqual([]);
    await expect(certificates.remove(stored.id)).rejects.toMatchObject({ code: 'NOT_FOUND' });
    await expect(certificates.update(stored.id, { name: 'x' })).rejects.toMatchObject({ code: 'NOT_FOUND' });
  });

  test('filenames are valid and unique in a project', async () => {
    const { db, certificates } = await processOn(await open());
    const projectId = await addProject(db);
    const create = (filename: string) => certificates.create(projectId, { filename, cert: root.cert });
    for (const filename of ['', '.', '..', 'a/b', 'a\\b', 'a\nb', 'a\0b', 'x'.repeat(256), 'ü'.repeat(128)]) {
      await expect(create(filename), filename).rejects.toMatchObject({ code: 'INVALID' });
    }
    const first = await create('x'.repeat(255));
    const second = await create('ü'.repeat(127));
    expect(first.name).toHaveLength(200);
    await expect(create(first.filename)).rejects.toMatchObject({ code: 'ALREADY_EXISTS' });
    await expect(certificates.update(second.id, { filename: first.filename })).rejects.toMatchObject({
      code: 'ALREADY_EXISTS',
    });
    await expect(certificates.create('prj_none', { filename: 'a', cert: root.cert })).rejects.toMatchObject({
      code: 'NOT_FOUND',
    });
  });

  test('a certificate that is or may be deployed cannot be changed or deleted, until its broker is deleted', async () => {
    const { db, changes, brokers, certificates, cache, rows } = await processOn(await open());
    const projectId = await addProject(db);
    await brokers.load();
    const { id } = await certificates.create(projectId, { filename: 'ca.pem', cert: root.cert });
    const refused = async () => {
      await expect(certificates.update(id, { name: 'x' })).rejects.toMatchObject({ code: 'IN_USE' });
      await expect(certificates.remove(id)).rejects.toMatchObject({ code: 'IN_USE' });
    };
    await rows.reserve(id, [place(id)]);
    await refused();
    expect(await list(certificates, { brokerId: 'brk_1' })).toEqual([]);
    await rows.confirm(place(id), false);
    await refused();
    expect(await list(certificates, { brokerId: 'brk_1', filename: 'ca.pem' })).toHaveLength(1);
    await db.broker.delete({ where: { id: 'brk_1' } });
    await changes.announce('broker', 'brk_1');
    await expect.poll(() => cache.get(id)?.deployments).toEqual([]);
    await certificates.remove(id);
  });

  test('an update and a concurrent deployment exclude each other', async () => {
    const first = await processOn(await open());
    const projectId = await addProject(first.db);
    for (let round = 0; round < 10; round++) {
      const { id } = await first.certificates.create(projectId, { filename: `${round}.pem`, cert: root.cert });
      const other = createAuthority({ name: 'Other' });
      const [reserved, changed] = await Promise.allSettled([
        first.rows.reserve(id, [place(id)]),
        round % 2 === 0 ? first.certificates.update(id, { cert: other.cert }) : first.certificates.remove(id),
      ]);
      const row = await first.db.certificate.findUnique({ where: { id }, include: { deployments: true } });
      // The reserved certificate equals the stored one.
      if (reserved.status === 'fulfilled') expect(row).toMatchObject({ cert: reserved.value.cert, deployments: [{}] });
      else expect(row).toBeNull();
      if (changed.status === 'rejected') expect(changed.reason).toMatchObject({ code: 'IN_USE' });
    }
  });

  if (engine === 'postgresql') {
    test("processes see each other's writes, and do not change a certificate that another process deploys", async () => {
      const databaseUrl = await newDatabaseUrl(engine, postgres);
      const [one, two] = [
        await processOn(await openTestStorage({ databaseUrl })),
        await processOn(await openTestStorage({ databaseUrl })),
      ];
      const projectId = await addProject(one.db);
      for (let round = 0; round < 5; round++) {
        const { id } = await one.certificates.create(projectId, { filename: `${round}.pem`, cert: root.cert });
        await expect.poll(() => two.cache.get(id)?.filename).toBe(`${round}.pem`);
        const [reserved, changed] = await Promise.allSettled([
          one.rows.reserve(id, [place(id, 1_000 + round)]),
          two.certificates.update(id, { cert: createAuthority({ name: 'Other' }).cert }),
        ]);
        const row = await one.db.certificate.findUniqueOrThrow({ where: { id }, include: { deployments: true } });
        expect(reserved.status).toBe('fulfilled');
        if (reserved.status === 'fulfilled') expect(row.cert).toBe(reserved.value.cert);
        if (changed.status === 'rejected') expect(changed.reason).toMatchObject({ code: 'IN_USE' });
        await one.rows.confirm(place(id, 1_000 + round), false);
        await expect.poll(() => two.cache.get(id)?.deployments[0]?.deployedAt).toBeTruthy();
      }
    });

    test('processes change a broker one after the other, and a long wait fails', async () => {
      const databaseUrl = await newDatabaseUrl(engine, postgres);
      const processes = [await openTestStorage({ databaseUrl }), await openTestStorage({ databaseUrl })];
      const turns = processes.map(({ leases }) => new LeasedMutex({ leases, ...CERTIFICATES, timeoutMs: 60_000 }));
      let [running, most] = [0, 0];
      const work = async () => {
        most = Math.max(most, ++running);
        await new Promise((resolve) => setImmediate(resolve));
        running -= 1;
      };
      await Promise.all([0, 1, 0, 1, 0, 1].map((process) => turns[process]?.run('brk_1', work)));
      expect([running, most]).toEqual([0, 1]);
      const hasty = new LeasedMutex({ leases: (processes[1] as Storage).leases, ...CERTIFICATES, timeoutMs: 1 });
      await turns[0]?.run('brk_1', async () => {
        await expect(hasty.run('brk_1', work)).rejects.toMatchObject({ code: 'IN_USE' });
        await hasty.run('brk_2', work);
      });
    });
  }

  test('a server certificate replaces the deployment of another one on the listener, and authorities stay', async () => {
    const { db, certificates, cache, rows } = await processOn(await open());
    const projectId = await addProject(db);
    const make = (filename: string, { cert, key }: { cert: string; key: string | null }) =>
      certificates.create(projectId, { filename, cert, privateKey: key });
    const [old, young] = [await make('old', server), await make('young', renewed)];
    const authority = await make('ca', { cert: root.cert, key: null });
    for (const port of [8883, 8884]) await rows.confirm(place(old.id, port), true);
    await rows.confirm(place(authority.id), false);
    await rows.confirm(place(young.id), true);
    const ports = ({ id }: { id: string }) => cache.get(id)?.deployments.map(({ port }) => port);
    expect([old, young, authority].map(ports)).toEqual([[8884], [8883], [8883]]);
    await rows.markUnconfirmed(place(young.id));
    expect(cache.get(young.id)?.deployments[0]?.deployedAt).toBeNull();
  });
});
