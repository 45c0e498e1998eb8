/** Questions to the kernel, each by a comm of its own: levels that were not saved, and looks at values. */

import { Kernel } from './types';

export const TARGET = 'jaxnb.inspector';

/** The answer, or an error in words for the user. */
export function askKernel(kernel: Kernel | null | undefined, question: object): Promise<any> {
  if (!kernel || kernel.status === 'dead') return Promise.reject(new Error('There is no kernel. This level was not saved: run the cell again.'));
  return new Promise((resolve, reject) => {
    const comm = kernel.createComm(TARGET);
    comm.onMsg = message => {
      const answer = message.content.data;
      comm.onClose = () => undefined;
      comm.close();
      if (answer?.error) reject(new Error(String(answer.error)));
      else resolve(answer);
    };
    comm.onClose = () => reject(new Error('The kernel does not know this program any more: run the cell again.'));
    comm.open(question);
  });
}
