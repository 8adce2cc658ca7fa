import { catalogue } from '../texts/texts.ts';

/** What an operator can do where the cause decides it more precisely than the kind of the problem. */
export const remedyTexts = catalogue('problems/remedy', {
  diskNotWritable: 'Free space on the disk of the database, or mend the disk. Nothing can be changed until then.',
  processAway: 'Start the process with the data folder of the broker again.',
  commands: 'If the broker has dynamic security, run these commands as its administrator:',
});
