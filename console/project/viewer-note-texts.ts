import { catalogue } from '../texts/texts.ts';

export const viewerNoteTexts = catalogue('project/viewer-note', {
  mayChange: 'In this project viewers may also change access control, streams, bridges and clients.',
  toStrict: 'Turn on strict roles in the settings, so that they only look.',
});
