/* scenarios.pml - three threads each; SCEN chooses one.
 * SPDX-License-Identifier: MIT */
#if SCEN==1
/* two roots over two trunks; a third thread joins both trunks and backpropagates from the joint node */
proctype W1() { LOCALS; RECORD(4); BACKWARD(4,0); RELEASE(4); done++ }
proctype W2() { LOCALS; BACKWARD(2,0); RELEASE(2); done++ }
proctype W3() { LOCALS; BACKWARD(3,0); RELEASE(3); done++ }
init { LOCALS; d_step { i=0; do :: i<NN*2 -> par[i]=NONE; i++ :: else -> break od;
  SETUP(0,NONE,NONE,1); SETUP(1,NONE,NONE,1); SETUP(2,0,NONE,1); SETUP(3,1,NONE,1); par[8]=0; par[9]=1 }
  atomic { run W1(); run W2(); run W3() }
  done==3; QUIET();
  /* node 4 consumed => neither 2 nor 3 could also have been, and the other way round; a loser never ran a rule */
  assert(ran[0]<=1 && ran[1]<=1); assert(okc>=1);
  RELEASE(0); RELEASE(1); ALLFREE() }
#elif SCEN==2
/* shared trunk 0; roots 1 (kept walk), 2 (consumed); 3 = op(1) held, released meanwhile */
proctype W1() { LOCALS; BACKWARD(1,1); RELEASE(1); done++ }
proctype W2() { LOCALS; BACKWARD(2,0); RELEASE(2); done++ }
proctype W3() { LOCALS; RECORD(4); RELEASE(3); BACKWARD(4,0); RELEASE(4); done++ }
init { LOCALS; d_step { i=0; do :: i<NN*2 -> par[i]=NONE; i++ :: else -> break od;
  SETUP(0,NONE,NONE,0); SETUP(1,0,NONE,1); SETUP(2,0,NONE,1); SETUP(3,1,NONE,1); par[8]=3; par[9]=NONE }
  atomic { run W1(); run W2(); run W3() }
  done==3; QUIET(); assert(ran[0]==1); assert(okc>=1); ALLFREE() }
#elif SCEN==3
/* release cascade against sever: 0 <- 1 <- 2 ; 0 <- 3 ; handles on 2 (twice) and 3; 4 = op(2) made and dropped */
proctype W1() { LOCALS; RELEASE(2); done++ }
proctype W2() { LOCALS; BACKWARD(3,0); RELEASE(3); done++ }
proctype W3() { LOCALS; RECORD(4); RELEASE(2); RELEASE(4); done++ }
init { LOCALS; d_step { i=0; do :: i<NN*2 -> par[i]=NONE; i++ :: else -> break od;
  SETUP(0,NONE,NONE,0); SETUP(1,0,NONE,0); SETUP(2,1,NONE,2); SETUP(3,0,NONE,1); par[8]=2; par[9]=NONE }
  atomic { run W1(); run W2(); run W3() }
  done==3; QUIET(); assert(ran[0]==1 && okc==1); ALLFREE() }
#elif SCEN==4
/* diamond child severed by two different consumers: 2=op(0,1) held by T3 who records 5=op(2) ; roots 3=op(0), 4=op(1) */
proctype W1() { LOCALS; BACKWARD(3,0); RELEASE(3); done++ }
proctype W2() { LOCALS; BACKWARD(4,0); RELEASE(4); done++ }
proctype W3() { LOCALS; RECORD(5); RELEASE(2); RELEASE(5); done++ }
init { LOCALS; d_step { i=0; do :: i<NN*2 -> par[i]=NONE; i++ :: else -> break od;
  SETUP(0,NONE,NONE,0); SETUP(1,NONE,NONE,0); SETUP(2,0,1,1); SETUP(3,0,NONE,1); SETUP(4,1,NONE,1); par[10]=2; par[11]=NONE }
  atomic { run W1(); run W2(); run W3() }
  done==3; QUIET(); assert(ran[0]==1 && ran[1]==1 && okc==2); ALLFREE() }
#elif SCEN==5
/* two consumers share interior 0: exactly one wins; third: keep walk from 3=op(1,2) */
proctype W1() { LOCALS; BACKWARD(1,0); RELEASE(1); done++ }
proctype W2() { LOCALS; BACKWARD(2,0); RELEASE(2); done++ }
proctype W3() { LOCALS; BACKWARD(3,1); RELEASE(3); done++ }
init { LOCALS; d_step { i=0; do :: i<NN*2 -> par[i]=NONE; i++ :: else -> break od;
  SETUP(0,NONE,NONE,0); SETUP(1,0,NONE,1); SETUP(2,0,NONE,1); SETUP(3,1,2,1) }
  atomic { run W1(); run W2(); run W3() }
  done==3; QUIET(); assert(ran[1]+ran[2]==1 && ran[0]==1 && okc>=1); ALLFREE() }
#elif SCEN==6
/* long sever: 0<-1<-2<-3 (3 held by W2, who records 4=op(3) and backpropagates it); W1 consumes root 5=op(0); 2 held too and released by W3 */
proctype W1() { LOCALS; BACKWARD(5,0); RELEASE(5); done++ }
proctype W2() { LOCALS; RECORD(4); RELEASE(3); BACKWARD(4,0); RELEASE(4); done++ }
proctype W3() { LOCALS; RELEASE(2); done++ }
init { LOCALS; d_step { i=0; do :: i<NN*2 -> par[i]=NONE; i++ :: else -> break od;
  SETUP(0,NONE,NONE,0); SETUP(1,0,NONE,0); SETUP(2,1,NONE,1); SETUP(3,2,NONE,1); SETUP(5,0,NONE,1); par[8]=3; par[9]=NONE }
  atomic { run W1(); run W2(); run W3() }
  done==3; QUIET(); assert(ran[0]==1); assert(okc==1); ALLFREE() }
#elif SCEN==7
/* everything at once: trunk 0; 1=op(0), 2=op(0); W1 keeps a walk from 1, W2 consumes 2, W3 records 3=op(1,2), drops 1 and 2 handles of its own, consumes 3 */
proctype W1() { LOCALS; BACKWARD(1,1); RELEASE(1); done++ }
proctype W2() { LOCALS; BACKWARD(2,0); RELEASE(2); done++ }
proctype W3() { LOCALS; RECORD(3); RELEASE(1); RELEASE(2); BACKWARD(3,0); RELEASE(3); done++ }
init { LOCALS; d_step { i=0; do :: i<NN*2 -> par[i]=NONE; i++ :: else -> break od;
  SETUP(0,NONE,NONE,0); SETUP(1,0,NONE,2); SETUP(2,0,NONE,2); par[6]=1; par[7]=2 }
  atomic { run W1(); run W2(); run W3() }
  done==3; QUIET(); assert(ran[0]==1 && okc>=1 && ran[3]+ran[2]>=1 && ran[2]<=1); ALLFREE() }
#elif SCEN==8
/* one leaf under two private graphs: no contribution is lost, and the leaf goes with its last use */
proctype W1() { LOCALS; RECORD(0); BACKWARD(0,0); RELEASE(0); done++ }
proctype W2() { LOCALS; RECORD(1); BACKWARD(1,0); RELEASE(1); done++ }
proctype W3() { LOCALS; RECORD(2); RELEASE(2); done++ }
init { LOCALS; d_step { i=0; do :: i<NN*2 -> par[i]=NONE; i++ :: else -> break od;
  par[0]=LEAF; par[2]=LEAF; par[4]=LEAF; par[5]=LEAF; lcount=1 }
  atomic { run W1(); run W2(); run W3() }
  done==3; QUIET(); assert(okc==2 && lgrad==2 && lcount==1 && !lfreed);
  LEAF_DROP(); assert(lfreed); ALLFREE() }
#elif SCEN==9
/* the leaf's only handle is dropped while one thread walks over it and another severs what uses it */
proctype W1() { LOCALS; BACKWARD(1,1); RELEASE(1); done++ }
proctype W2() { LOCALS; BACKWARD(0,0); RELEASE(0); done++ }
proctype W3() { LOCALS; LEAF_DROP(); RELEASE(2); done++ }
init { LOCALS; d_step { i=0; do :: i<NN*2 -> par[i]=NONE; i++ :: else -> break od; lcount=1;
  SETUP(0,LEAF,NONE,1); SETUP(1,0,LEAF,1); SETUP(2,0,LEAF,1) }
  atomic { run W1(); run W2(); run W3() }
  done==3; QUIET(); assert(ran[0]==1 && lgrad==hits && lcount==0 && lfreed); ALLFREE() }
#elif SCEN==10
/* recorded on two nodes while both are consumed */
proctype W1() { LOCALS; RECORD(2); done++ }
proctype W2() { LOCALS; BACKWARD(0,0); RELEASE(0); done++ }
proctype W3() { LOCALS; BACKWARD(1,0); RELEASE(1); done++ }
init { LOCALS; d_step { i=0; do :: i<NN*2 -> par[i]=NONE; i++ :: else -> break od;
  SETUP(0,NONE,NONE,2); SETUP(1,NONE,NONE,2); par[4]=0; par[5]=1 }
  atomic { run W1(); run W2(); run W3() }
  done==3; QUIET(); assert(okc==2 && state[2]==SEVERED);
  RELEASE(2); RELEASE(0); RELEASE(1); ALLFREE() }
#endif
