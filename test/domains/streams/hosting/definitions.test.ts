import { expect, onTestFinished, test } from 'vitest';
import {
  DEFAULT_DEFINITION,
  type StreamDefinition,
} from '../../../../src/data-plane/streams/model/stream-definition.ts';
import { StreamCache } from '../../../../src/domains/streams/hosting/stream-cache.ts';
import { newId } from '../../../../src/platform/ids.ts';
import { ANYTHING } from '../../../../src/platform/storage/changes/changes.ts';
import type { Storage } from '../../../../src/platform/storage/storage.ts';
import { newDatabaseUrl, openTestStorage, silentLog } from '../../../support/database.ts';
import { describeEngines } from '../../../support/engines.ts';
import { addBroker } from '../control/stream-world.ts';

const whole: StreamDefinition = {
  name: 'füst/1',
  sourceTopic: 'plant/#',
  targetTopic: 'fast',
  targetQos: 2,
  ttl: 2_147_483_647,
  active: false,
  process: false,
  persist: true,
  key: 'k',
  query: {
    select: [{ source: '[a\u0000b]', target: '[c]', alias: 'ä' }],
    where: [{ operator: '!=', left: 'ä', right: 1.5 }],
  },
  textName: 'Fast',
  textDescription: 'two\nlines',
};

async function open({ db, changes }: Storage): Promise<StreamCache> {
  const streamCache = new StreamCache({ db, changes, log: silentLog });
  onTestFinished(() => streamCache.close());
  await streamCache.load();
  return streamCache;
}

describeEngines((engine, postgres) => {
  const openStorage = async () => openTestStorage({ databaseUrl: await newDatabaseUrl(engine, postgres) });

  test('definitions are stored completely, changed and deleted, and listed in the order of creation', async () => {
    const storage = await openStorage();
    const [one, other] = [await addBroker(storage), await addBroker(storage)];
    const streamCache = await open(storage);
    const definitions = streamCache.of(one);
    const [first, second] = [newId('stream', 1), newId('stream', 2)];
    await definitions.save({ id: second, definition: { ...DEFAULT_DEFINITION, name: 'b', sourceTopic: 'x' } });
    await definitions.save({ id: first, definition: whole });
    // Of another broker, under the same name.
    await streamCache.of(other).save({ id: newId('stream'), definition: whole });
    expect(definitions.byName('füst/1')).toMatchObject({ id: first, definition: whole });
    expect(definitions.byName('none')).toBeNull();
    const again = (await open(storage)).of(one);
    expect(again.all().map(({ id }) => id)).toEqual([first, second]);
    expect(again.byName('füst/1')?.definition).toEqual(whole);
    await again.save({ id: first, definition: { ...whole, query: {}, targetTopic: null } });
    expect(again.byName('füst/1')?.definition).toEqual({ ...whole, query: {}, targetTopic: null });
    await again.remove(first);
    expect(again.all().map(({ definition }) => definition.name)).toEqual(['b']);
    expect(streamCache.of(other).all()).toHaveLength(1);
  });

  test('a name is unique, and a deleted definition is not written again', async () => {
    const storage = await openStorage();
    const broker = await addBroker(storage);
    const definitions = (await open(storage)).of(broker);
    const id = newId('stream');
    await definitions.save({ id, definition: whole });
    await expect(definitions.save({ id: newId('stream'), definition: whole })).rejects.toMatchObject({
      code: 'ALREADY_EXISTS',
    });
    await storage.db.stream.delete({ where: { id } });
    await expect(definitions.save({ id, definition: whole })).rejects.toMatchObject({ code: 'NOT_FOUND' });
    const none = (await open(storage)).of(newId('broker'));
    await expect(none.save({ id: newId('stream'), definition: whole })).rejects.toMatchObject({ code: 'NOT_FOUND' });
  });

  test('only writes of other processes notify listeners, and an unchanged definition stays the same object', async () => {
    const storage = await openStorage();
    const broker = await addBroker(storage);
    const streamCache = await open(storage);
    const definitions = streamCache.of(broker);
    let news = 0;
    definitions.onChange(() => {
      news += 1;
    });
    const id = newId('stream');
    await definitions.save({ id, definition: whole });
    const kept = definitions.byName(whole.name);
    await storage.changes.announce('stream', ANYTHING);
    const other = newId('stream');
    const { query, ...rest } = whole;
    await storage.db.stream.create({
      data: { ...rest, id: other, brokerId: broker, name: 'elsewhere', query: JSON.stringify(query) },
    });
    await storage.changes.announce('stream', other);
    await expect.poll(() => definitions.byName('elsewhere')?.definition.query).toEqual(query);
    expect(news).toBe(1);
    expect(definitions.byName(whole.name)).toBe(kept);
    await storage.db.stream.delete({ where: { id: other } });
    await storage.changes.announce('stream', other);
    await expect.poll(() => definitions.all().length).toBe(1);
    expect(news).toBe(2);
    await storage.db.broker.delete({ where: { id: broker } });
    expect(await storage.db.stream.count()).toBe(0);
    streamCache.brokerRemoved(broker);
    expect(news).toBe(3);
    expect(streamCache.of(broker).all()).toEqual([]);
  });
});
