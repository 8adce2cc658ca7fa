import { type ScriptedBroker, startScriptedBroker } from '../../support/aedes-broker.ts';

type Fields = Readonly<Record<string, unknown>>;

/** A broker that answers `stream-processing` as the commercial plugin documents it, with streams that do nothing. */
interface CommercialStreams extends ScriptedBroker {
  /** By name, as `getStream` answers. */
  readonly streams: Map<string, Fields>;
  /** Commands, oldest first, without correlation data. */
  readonly commands: Fields[];
}

const READ_ONLY = ['command', 'correlationData', 'gte', 'lte', 'limit', 'speed', 'reverse', 'replaytopic'];

export async function startCommercialStreams(): Promise<CommercialStreams> {
  const streams = new Map<string, Fields>();
  const commands: Fields[] = [];
  const change = (name: string, fields: Fields) => {
    streams.set(name, { ...streams.get(name), ...fields });
    return {};
  };
  const execute = (fields: Fields): Fields => {
    const { command, streamname, verbose, offset = 0, count = -1 } = fields;
    const name = String(streamname);
    const settings = Object.fromEntries(Object.entries(fields).filter(([key]) => !READ_ONLY.includes(key)));
    if (command === 'listStreams') {
      const all = [...streams.values()].map((stream) => (verbose === true ? stream : stream.streamname));
      const [from, most] = [Number(offset), Number(count)];
      return { data: { totalCount: all.length, streams: all.slice(from, most < 0 ? undefined : from + most) } };
    }
    if (command === 'createStream') {
      if (streams.has(name)) return { error: 'Stream already exists' };
      return change(name, { replaying: false, ...settings });
    }
    if (command === 'getLicense') return { data: {} };
    const stream = streams.get(name);
    if (stream === undefined) return { error: 'Stream not found' };
    switch (command) {
      case 'getStream':
        return { data: stream };
      case 'modifyStream':
        return change(name, settings);
      case 'enableStream':
      case 'disableStream':
        return change(name, { active: command === 'enableStream' });
      case 'deleteStream':
        streams.delete(name);
        return {};
      default:
    }
    if (stream.persist !== true) return { error: 'Persistence not configured for this stream' };
    switch (command) {
      case 'getStreamMessageCount':
        return { data: { streamname, count: 17 } };
      case 'clearStreamMessages':
        return {};
      case 'replayStream':
      case 'stopStreamReplay':
        return change(name, { replaying: command === 'replayStream' });
      default:
        return { error: 'Unknown command' };
    }
  };
  const broker = await startScriptedBroker((topic, payload) => {
    if (topic !== '$CONTROL/stream-processing/v1') return ['{"error":"endpoint not available"}'];
    const { commands: asked } = JSON.parse(payload) as { commands: Fields[] };
    const responses = asked.map(({ correlationData, ...fields }) => {
      commands.push(fields);
      return { command: fields.command, correlationData, ...execute(fields) };
    });
    return [JSON.stringify({ responses })];
  });
  return { ...broker, streams, commands };
}
